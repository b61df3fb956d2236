// Makes text from elsewhere safe to print: whatever a terminal would take for a command becomes visible instead.

/** Controls, marks that turn the direction of text, and what takes no room and so can hide. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const UNSAFE_CONTROL = /[\p{Cc}]/gu

/** One line without anything a terminal acts on. */
export function plain(text: string): string {
  return text.replace(UNSAFE, visible)
}

/** Lines of JSON, for a terminal: what is escaped means the same. */
export function plainJson(text: string): string {
  return text.replace(
    UNSAFE_CONTROL,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}

function visible(char: string): string {
  if (char === '\t') return '  '
  const code = char.codePointAt(0)!
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
}
