// `${VAR}` in configuration text. It is expanded in the scalars YAML has parsed, so a value can never add
// structure; to let YAML parse `[${A}, ${B}]`, a reference is hidden from it behind private-use letters.

/** References YAML could trip over. With quotes or backslashes inside, YAML's own rules come first. */
const HIDDEN = /\$\$|\$\{[A-Za-z_]\w*(?::-[^}\n'"\\]*)?\}/g

const REFERENCE = /\$(?:\$|\{([^}]*)(\}?))/g
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-(.*))?$/s

/** A block of 128 private-use letters that the text does not use, one for each ASCII letter. */
export class Disguise {
  readonly #base: number
  readonly #letters: RegExp

  constructor(text: string) {
    let base = 0xe000
    while (base < 0xf800 && lettersFrom(base).test(text)) base += 128
    this.#base = base
    this.#letters = lettersFrom(base)
  }

  /** The same text, as long as before, with every reference hidden. */
  hide(text: string): string {
    return text.replace(HIDDEN, (found) =>
      found === '$$'
        ? found
        : found.replace(/[\0-\x7f]/g, (letter) => this.#shift(letter, this.#base)),
    )
  }

  reveal(text: string): string {
    return text.replace(this.#letters, (letter) => this.#shift(letter, -this.#base))
  }

  #shift(letter: string, by: number): string {
    return String.fromCharCode(letter.charCodeAt(0) + by)
  }
}

function lettersFrom(base: number): RegExp {
  const [from, to] = [base, base + 127].map((code) => `\\u${code.toString(16)}`)
  return new RegExp(`[${from}-${to}]`, 'g')
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Expands every reference once; each that cannot be is told to `fail`. */
export function expand(text: string, env: Environment, fail: (message: string) => void): string {
  return text.replace(REFERENCE, (found, inside: string | undefined, end: string | undefined) => {
    if (inside === undefined) return '$'
    const parts = end === '}' ? NAME_AND_DEFAULT.exec(inside) : null
    if (parts === null) {
      fail(
        'malformed variable reference, expected ${NAME} or ${NAME:-default}; write $$ for a plain $',
      )
      return found
    }
    const [, name = '', fallback] = parts
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || fallback === undefined)) return value
    if (fallback === undefined) fail(`environment variable not found: ${name}`)
    return fallback ?? found
  })
}
