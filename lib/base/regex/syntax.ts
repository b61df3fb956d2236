// Reads the source of a JavaScript regex (flag u) into a tree, for judging it, not for running it.

/** Inclusive code points. */
export type Range = readonly [from: number, to: number]

export type Piece =
  | { readonly kind: 'set'; readonly ranges: readonly Range[] }
  /** `^` */
  | { readonly kind: 'start' }
  /** `$`, `\b` and `\B`: a condition on the text around it. */
  | { readonly kind: 'assertion' }
  | { readonly kind: 'sequence'; readonly parts: readonly Piece[] }
  | { readonly kind: 'choice'; readonly parts: readonly Piece[] }
  | { readonly kind: 'repeat'; readonly part: Piece; readonly min: number; readonly max: number }

const LAST = 0x10ffff
export const ANY: readonly Range[] = [[0, LAST]]

const DIGITS: readonly Range[] = [[0x30, 0x39]]
const WORDS: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const SPACES: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const LINE_ENDS: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 }

const REPEAT = /(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y
const ESCAPE =
  /\\(?:u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([A-Za-z])|[pP]\{[^}]*\}|k<[^>]*>|[^])/uy
const GROUP = /\((?:\?(?::|<(?![=!])[^>]*>|<?[=!]))?/y

/** What no automaton can do, and so nobody can bound. */
export class RegexRefusal extends Error {}

/** The tree of a source that `RegExp` takes. */
export function parseRegex(source: string): Piece {
  return new Parser(source).choice()
}

class Parser {
  readonly #source: string
  #at = 0

  constructor(source: string) {
    this.#source = source
  }

  choice(): Piece {
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
  }

  #sequence(): Piece {
    const parts: Piece[] = []
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at]!))
      parts.push(this.#repeated(this.#atom()))
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }
  }

  #repeated(part: Piece): Piece {
    const found = this.#match(REPEAT)
    if (found === null) return part
    const [text, least = '', comma = '', most = ''] = found
    if (text.startsWith('*')) return { kind: 'repeat', part, min: 0, max: Infinity }
    if (text.startsWith('+')) return { kind: 'repeat', part, min: 1, max: Infinity }
    if (text.startsWith('?')) return { kind: 'repeat', part, min: 0, max: 1 }
    const min = Number(least)
    if (comma === '') return { kind: 'repeat', part, min, max: min }
    return { kind: 'repeat', part, min, max: most === '' ? Infinity : Number(most) }
  }

  #atom(): Piece {
    if (this.#take('^')) return { kind: 'start' }
    if (this.#take('$')) return { kind: 'assertion' }
    if (this.#take('.')) return { kind: 'set', ranges: complement(LINE_ENDS) }
    if (this.#take('[')) return { kind: 'set', ranges: this.#class() }
    const group = this.#match(GROUP)
    if (group !== null) return this.#group(group[0])
    if (/^\\[bB]/.test(this.#source.slice(this.#at, this.#at + 2))) {
      this.#at += 2
      return { kind: 'assertion' }
    }
    return { kind: 'set', ranges: this.#character() }
  }

  #group(opening: string): Piece {
    if (/[=!]$/.test(opening)) throw new RegexRefusal('looks ahead or behind')
    const inner = this.choice()
    this.#take(')')
    return inner
  }

  #class(): readonly Range[] {
    const isNegated = this.#take('^')
    const ranges: Range[] = []
    while (!this.#take(']')) {
      const from = this.#character()
      const isRange =
        this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']' && isOne(from)
      if (isRange) {
        this.#at++
        ranges.push([from[0]![0], this.#character()[0]![0]])
      } else ranges.push(...from)
    }
    return isNegated ? complement(ranges) : ranges
  }

  /** One character or class escape, inside or outside brackets. */
  #character(): readonly Range[] {
    const escape = this.#match(ESCAPE)
    if (escape !== null) return escaped(escape)
    const code = this.#source.codePointAt(this.#at)!
    this.#at += code > 0xffff ? 2 : 1
    return [[code, code]]
  }

  #take(char: string): boolean {
    if (this.#source[this.#at] !== char) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)
    if (found !== null) this.#at = pattern.lastIndex
    return found
  }
}

function escaped([text, braced, four, two, control]: RegExpExecArray): readonly Range[] {
  const hex = braced ?? four ?? two
  if (hex !== undefined) return one(parseInt(hex, 16))
  if (control !== undefined) return one(control.charCodeAt(0) % 32)
  const letter = text.charAt(1)
  if (/[1-9k]/.test(letter)) throw new RegexRefusal('refers back to a group')
  if (letter === 'd') return DIGITS
  if (letter === 'D') return complement(DIGITS)
  if (letter === 'w') return WORDS
  if (letter === 'W') return complement(WORDS)
  if (letter === 's') return SPACES
  if (letter === 'S') return complement(SPACES)
  // Nobody lists these here: any character is the cautious reading.
  if (letter === 'p' || letter === 'P') return ANY
  if (letter === 'b') return one(8)
  return one(CONTROLS[letter] ?? letter.codePointAt(0)!)
}

function one(code: number): readonly Range[] {
  return [[code, code]]
}

function isOne(ranges: readonly Range[]): boolean {
  return ranges.length === 1 && ranges[0]![0] === ranges[0]![1]
}

function complement(ranges: readonly Range[]): readonly Range[] {
  const rest: Range[] = []
  let from = 0
  for (const [start, end] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (start > from) rest.push([from, start - 1])
    from = Math.max(from, end + 1)
  }
  if (from <= LAST) rest.push([from, LAST])
  return rest
}
