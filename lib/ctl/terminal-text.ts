// Makes text from outside safe for a terminal, and cuts it to a number of columns.

import { eastAsianWidth } from 'get-east-asian-width'

/** Control characters, characters that change the text direction, and invisible characters. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const UNSAFE_CONTROL = /[\p{Cc}]/gu
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

const COMBINING_MARK = /^\p{M}$/u

/** One line without characters that a terminal interprets: they are shown as escapes. */
export function plain(text: string): string {
  return text.replace(UNSAFE, escapeText)
}

/** JSON lines with the same meaning and without control characters. */
export function plainJson(text: string): string {
  return text.replace(
    UNSAFE_CONTROL,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}

/** The number of columns that plain text takes in a terminal. */
export function widthOf(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

/** Cuts the text or pads it with spaces to exactly this number of columns. */
export function fit(text: string, columns: number): string {
  if (PRINTABLE_ASCII.test(text)) return text.slice(0, columns).padEnd(columns)
  let width = 0
  let end = 0
  for (const char of text) {
    const next = width + charWidth(char)
    if (next > columns) break
    width = next
    end += char.length
  }
  return text.slice(0, end) + ' '.repeat(columns - width)
}

/** Like `fit`, but text that is cut ends with `…`. */
export function clip(text: string, columns: number): string {
  if (widthOf(text) <= columns) return fit(text, columns)
  return fit(`${fit(text, columns - 1).trimEnd()}…`, columns)
}

/** Removes the first columns; half of a wide character becomes a space. */
export function skip(text: string, columns: number): string {
  let width = 0
  let start = 0
  for (const char of text) {
    if (width >= columns) break
    width += charWidth(char)
    start += char.length
  }
  return ' '.repeat(Math.max(0, width - columns)) + text.slice(start)
}

/** The package string-width also joins emoji sequences, but takes 80 ms to load and to warm up. */
function charWidth(char: string): number {
  return COMBINING_MARK.test(char) ? 0 : eastAsianWidth(char.codePointAt(0)!)
}

function escapeText(char: string): string {
  if (char === '\t') return '  '
  const code = char.codePointAt(0)!
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}
