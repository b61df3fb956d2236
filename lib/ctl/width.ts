// How much room text takes in a terminal: most characters one column, some two, marks none.

const MARKS = /^\p{M}$/u
const EMOJI = /^\p{Emoji_Presentation}$/u
/** First and last of the ranges that East Asian fonts draw in two columns. */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x20000, 0x3fffd],
]
/** Below it nothing is wide and nothing is a mark. */
const FIRST_ODD = 0x300

export function widthOf(text: string): number {
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

/** Exactly this many columns: cut, or filled up with spaces. */
export function fit(text: string, columns: number): string {
  let width = 0
  let end = 0
  for (const char of text) {
    const next = width + charWidth(char)
    if (next > columns) return text.slice(0, end) + ' '.repeat(columns - width)
    width = next
    end += char.length
  }
  return text + ' '.repeat(columns - width)
}

/** As `fit`; what is cut ends in `…`. */
export function clip(text: string, columns: number): string {
  if (widthOf(text) <= columns) return fit(text, columns)
  return fit(`${fit(text, columns - 1).trimEnd()}…`, columns)
}

/** Without its first columns; half of a wide character becomes a space. */
export function skip(text: string, columns: number): string {
  let width = 0
  let at = 0
  for (const char of text) {
    if (width >= columns) break
    width += charWidth(char)
    at += char.length
  }
  return ' '.repeat(Math.max(0, width - columns)) + text.slice(at)
}

function charWidth(char: string): number {
  const code = char.codePointAt(0)!
  if (code < FIRST_ODD) return 1
  if (MARKS.test(char)) return 0
  if (EMOJI.test(char)) return 2
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1
}
