// Regular expressions that operators write, in RE2 syntax: their time grows with the length of the text only.

import { RE2JS, RE2JSException, RE2JSSyntaxException, RE2Set } from 're2js'

/** Characters of a text to which a regex may be applied. Each caller refuses longer texts in its own way. */
export const MAX_REGEX_SUBJECT = 4096

/** Characters of a pattern. */
export const MAX_REGEX_SOURCE = 2048

/** Instructions of a compiled pattern: `a{500}` has 500. Time is at most instructions times characters. */
export const MAX_REGEX_SIZE = 2048

/** Bytes of the states that one pattern caches; with more states it runs without the cache. */
const MAX_CACHE = 256 * 1024

/** Why a pattern was refused. The message does not quote the pattern, which can hold a secret. */
export class RegexError extends Error {}

/** `whole`: the pattern must match the whole text, and `.` matches line ends. `part`: any part of it. */
type RegexMode = 'whole' | 'part'

export class Regex {
  readonly source: string
  readonly mode: RegexMode
  readonly #program: RE2JS
  readonly #set: RE2Set

  /** Throws a RegexError for a pattern that is not RE2 syntax or too large. */
  constructor(source: string, mode: RegexMode) {
    const flags = mode === 'whole' ? RE2JS.DOTALL : 0
    this.source = source
    this.mode = mode
    this.#program = compile(source, flags)
    // A set of one: unlike a single pattern it has a bound for its cache.
    const anchor = mode === 'whole' ? RE2Set.ANCHOR_BOTH : RE2Set.UNANCHORED
    this.#set = new RE2Set(anchor, flags, MAX_CACHE)
    this.#set.add(source)
    this.#set.compile()
  }

  /** Instructions: the maximum cost of one character of a text. */
  get size(): number {
    return this.#program.programSize()
  }

  get groups(): number {
    return this.#program.groupCount()
  }

  test(text: string): boolean {
    return this.#set.match(text).length > 0
  }

  /** Replaces every match; `replacementFor` gets the groups, the whole match first, and the offset. */
  replaceAll(
    text: string,
    replacementFor: (groups: readonly unknown[], offset: number) => string,
  ): string {
    const { groups } = this
    return this.#program
      .matcher(text)
      .replaceAll((...match: unknown[]) =>
        replacementFor(match.slice(0, groups + 1), match[groups + 1] as number),
      )
  }
}

function compile(source: string, flags: number): RE2JS {
  if (source.length > MAX_REGEX_SOURCE)
    throw new RegexError(`more than ${MAX_REGEX_SOURCE} characters`)
  const program = parse(source, flags)
  if (program.programSize() <= MAX_REGEX_SIZE) return program
  throw new RegexError(
    `too large, it compiles to more than ${MAX_REGEX_SIZE} instructions; use smaller repeat counts`,
  )
}

function parse(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags)
  } catch (error) {
    if (error instanceof RE2JSSyntaxException)
      throw new RegexError(explain(error.getDescription(), error.getPattern() ?? ''))
    if (error instanceof RE2JSException) throw new RegexError('invalid pattern')
    throw error
  }
}

/** The start of the part that RE2 names, and what to write instead. */
const HINTS: readonly (readonly [part: RegExp, hint: string])[] = [
  [
    /^\(\?<?[=!]/,
    'look-around such as (?=…) is not in RE2 syntax; match the text itself, or use a second condition',
  ],
  [
    /^\\[1-9k]/,
    'a back-reference such as \\1 is not in RE2 syntax; write out what the group matches',
  ],
  [/^\\[uc]/, '\\u and \\c are not in RE2 syntax; write \\x{…} with the code of the character'],
  [/^\[\^?\]/, '[] and [^] are not in RE2 syntax; write (?s:.) for any character'],
  [/^\\[pP]\{/, 'unknown character class; RE2 has \\p{Greek} or \\p{Lu}, without a name and ='],
  [/^\{\d/, 'a repeat count, or the product of nested ones, is over 1000'],
]

function explain(description: string, part: string): string {
  return HINTS.find(([start]) => start.test(part))?.[1] ?? description
}
