// Expands `${VAR}` in the text of a configuration file before YAML is parsed, and maps positions back to the file.

import { CST, Lexer } from 'yaml'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Well-formed references. One with quotes or backslashes in its default is left to the rules of YAML. */
const MASKED = /\$\$|\$\{[A-Za-z_]\w*(?::-[^}\n\0'"\\]*)?\}/g

const REFERENCE = /\$(?:\$|\{([^}]*)(\}?))/g
const REFERENCE_NAME = /\$\{([A-Za-z_]\w*)/g
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-(.*))?$/s
const SOLE_REFERENCE = /^\$\{[^}]*\}$/

/** Private-use characters of the Unicode plane 0; a mask takes a block of 128. */
const [FIRST_PRIVATE, END_OF_PRIVATE, BLOCK] = [0xe000, 0xf800, 128] as const

/**
 * Hides characters from the YAML parser: the ASCII characters of references, which YAML could misread, and `$` of expanded
 * values, which must not be expanded again. It uses characters that neither the text nor the values contain.
 */
export class VariableMask {
  readonly #base: number
  readonly #letters: RegExp

  constructor(text: string) {
    let base = FIRST_PRIVATE
    while (base < END_OF_PRIVATE && matchCharacters(base, base + BLOCK).test(text)) base += BLOCK
    this.#base = base
    this.#letters = matchCharacters(base + 1, base + BLOCK)
  }

  /** The text with every reference masked; its length does not change. */
  mask(text: string): string {
    return text.replace(MASKED, (found) =>
      found === '$$'
        ? found
        : found.replace(/[\0-\x7f]/g, (letter) => this.#shift(letter, this.#base)),
    )
  }

  unmask(text: string): string {
    return text.replace(this.#letters, (letter) => this.#shift(letter, -this.#base))
  }

  /** An expanded value, in which `$` is not the start of a reference. */
  maskDollars(value: string): string {
    return value.replaceAll('$', String.fromCharCode(this.#base))
  }

  unmaskDollars(text: string): string {
    return text.replaceAll(String.fromCharCode(this.#base), '$')
  }

  #shift(letter: string, offset: number): string {
    return String.fromCharCode(letter.charCodeAt(0) + offset)
  }
}

function matchCharacters(first: number, end: number): RegExp {
  const [from, to] = [first, end - 1].map((code) => `\\u${code.toString(16)}`)
  return new RegExp(`[${from}-${to}]`, 'g')
}

/** Expands every reference once; `fail` is called for each reference that cannot be expanded. */
export function expandVariables(
  text: string,
  env: EnvironmentVariables,
  fail: (message: string) => void,
): string {
  return text.replace(REFERENCE, (found) => {
    const { value, problem } = expandReference(found, env)
    if (problem !== null) fail(problem)
    return value
  })
}

/** `value` is the reference itself if there is a problem. */
interface ReferenceExpansion {
  readonly value: string
  readonly problem: string | null
}

const MALFORMED =
  'malformed variable reference, expected ${NAME} or ${NAME:-default}; write $$ for a plain $'

function expandReference(found: string, env: EnvironmentVariables): ReferenceExpansion {
  if (found === '$$') return { value: '$', problem: null }
  const parts = found.endsWith('}') ? NAME_AND_DEFAULT.exec(found.slice(2, -1)) : null
  if (parts === null) return { value: found, problem: MALFORMED }
  const [, name = '', fallback] = parts
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  if (value !== undefined && (value !== '' || fallback === undefined))
    return { value, problem: null }
  if (fallback !== undefined) return { value: fallback, problem: null }
  return { value: found, problem: `environment variable not found: ${name}` }
}

/** A reference that cannot be expanded. */
export interface ExpansionFailure {
  /** Offset of the masked reference in the expanded text. */
  readonly at: number
  readonly message: string
}

interface Insertion {
  /** Start and end in the expanded text. */
  readonly start: number
  readonly end: number
  /** Start and end of the reference in the file. */
  readonly from: number
  readonly to: number
}

/** The place of a piece of text in a YAML file. */
type LexemeContext = 'kept' | 'key' | 'flow' | 'block' | 'other'

/** The text of a file for the YAML parser. References in quoted and block scalars are still masked; those in comments do not count. */
export class ExpandedText {
  readonly text: string
  readonly mask: VariableMask
  readonly failures: ExpansionFailure[] = []
  readonly #original: string
  readonly #env: EnvironmentVariables
  readonly #insertions: Insertion[] = []
  #output = ''

  constructor(original: string, env: EnvironmentVariables) {
    const values = [...original.matchAll(REFERENCE_NAME)].map(([, name = '']) =>
      Object.hasOwn(env, name) ? env[name] : '',
    )
    this.#original = original
    this.#env = env
    this.mask = new VariableMask(`${original}${values.join('')}`)
    for (const { lexeme, offset, context } of listLexemes(this.mask.mask(original))) {
      if (context === 'kept') this.#output += lexeme
      else this.#expandLexeme(lexeme, offset, context)
    }
    this.text = this.#output
  }

  /** The offset in the file of an offset in `text`; for a part of an expanded value, that of its reference. */
  originalOffsetOf(offset: number): number {
    const insertion = this.#insertions.findLast(({ start }) => start <= offset)
    if (insertion === undefined) return offset
    return offset < insertion.end ? insertion.from : insertion.to + offset - insertion.end
  }

  /** What the file has for a range of `text` that contains the value of a reference, or a part of it. */
  findReference(start: number, end: number): string | undefined {
    const found = this.#insertions.filter((one) => one.start < end && one.end > start)
    if (found.length === 0) return undefined
    const to = Math.max(found.at(-1)!.to, this.originalOffsetOf(end))
    return this.#original.slice(this.originalOffsetOf(start), to)
  }

  #expandLexeme(lexeme: string, offset: number, context: LexemeContext): void {
    const plain = this.mask.unmask(lexeme)
    const isSole = SOLE_REFERENCE.test(plain)
    let end = 0
    for (const match of plain.matchAll(REFERENCE)) {
      const [found] = match
      this.#output += plain.slice(end, match.index)
      end = match.index + found.length
      const from = offset + match.index
      const expansion = expandReference(found, this.#env)
      const problem = expansion.problem ?? describeCutValue(expansion.value, context)
      const start = this.#output.length
      if (problem !== null) this.failures.push({ at: start, message: problem })
      this.#output +=
        problem === null
          ? this.mask.maskDollars(this.#place(expansion.value, from, isSole ? context : 'other'))
          : this.mask.mask(found)
      this.#insertions.push({ start, end: this.#output.length, from, to: offset + end })
    }
    this.#output += plain.slice(end)
  }

  /** A whole value starts on its own line, indented, so that it can be any YAML; other values are inserted as they are. */
  #place(value: string, offset: number, context: LexemeContext): string {
    if (context === 'flow' && value.trim() === '') return 'null'
    const column = offset - (this.#original.lastIndexOf('\n', offset - 1) + 1)
    const lines = value.split(/\r?\n/)
    const indented = lines.map((line) => (line === '' ? line : ' '.repeat(column) + line))
    if (context === 'block') return `\n${indented.join('\n')}${lines.length > 1 ? '\n' : ''}`
    return [lines[0], ...indented.slice(1)].join('\n')
  }
}

/** YAML would silently drop the rest of a value, such as a password, after ` #`. */
function describeCutValue(value: string, context: LexemeContext): string | null {
  if (context === 'other' || value.includes('\n') || !/(?:^|\s)#/.test(value)) return null
  return "got a value with ' #', which starts a comment in YAML; write the variable in quotes"
}

interface TextLexeme {
  readonly lexeme: string
  readonly offset: number
  readonly context: LexemeContext
}

/** Lexemes that the lexer adds; they are not in the text. */
const MARKERS: readonly string[] = ['doc-mode', 'flow-error-end', 'scalar']

const KEPT_TOKENS: readonly string[] = ['comment', 'single-quoted-scalar', 'double-quoted-scalar']

/** Splits a text into the lexemes of YAML; their concatenation is the text. */
function* listLexemes(text: string): Generator<TextLexeme, undefined> {
  const all = [...new Lexer().lex(text)]
  let offset = 0
  let depth = 0
  // The lexer announces the text of a scalar by a marker; after a block header it is that of a block scalar.
  let state: 'tokens' | 'after block header' | 'plain text' | 'block text' = 'tokens'
  for (const [at, lexeme] of all.entries()) {
    let context: LexemeContext = 'other'
    if (state === 'tokens' || state === 'after block header') {
      const type = CST.tokenType(lexeme) ?? ''
      if (type === 'scalar') state = state === 'tokens' ? 'plain text' : 'block text'
      if (MARKERS.includes(type)) continue
      if (type === 'flow-map-start' || type === 'flow-seq-start') depth++
      if (type === 'flow-map-end' || type === 'flow-seq-end') depth--
      if (type === 'block-scalar-header') state = 'after block header'
      if (KEPT_TOKENS.includes(type)) context = 'kept'
    } else {
      if (state === 'block text') context = 'kept'
      else if (isBeforeColon(all, at)) context = 'key'
      else context = depth > 0 ? 'flow' : 'block'
      state = 'tokens'
    }
    yield { lexeme, offset, context }
    offset += lexeme.length
  }
  return undefined
}

function isBeforeColon(all: readonly string[], at: number): boolean {
  const next = CST.tokenType(all[at + 1] ?? '\n') === 'space' ? all[at + 2] : all[at + 1]
  return next !== undefined && CST.tokenType(next) === 'map-value-ind'
}
