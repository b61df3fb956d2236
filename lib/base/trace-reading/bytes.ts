// Bytes that stand for something else: text, JSON, or themselves in rows of hexadecimal digits.

const MOST_HEX_LINES = 256
const HEX_WIDTH = 16
const LINE_END = /\r\n|\r|\n/

/** Of base64 without line ends; nothing of what is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  let letters: string
  try {
    letters = atob(base64)
  } catch {
    letters = ''
  }
  const bytes = new Uint8Array(letters.length)
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at)
  return bytes
}

/** Null for what is no text; a character cut in two at the end is no reason. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return null
  }
}

export function linesOf(text: string): string[] {
  return text.split(LINE_END)
}

/** Laid out; null for what is no JSON. */
export function jsonLines(text: string): string[] | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n')
  } catch {
    return null
  }
}

export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = []
  for (let at = 0; at < bytes.length && lines.length < MOST_HEX_LINES; at += HEX_WIDTH) {
    const row = [...bytes.subarray(at, at + HEX_WIDTH)]
    const hex = row.map((byte) => `${byte.toString(16).padStart(2, '0')} `).join('')
    const letters = row.map((byte) => (byte < 32 || byte > 126 ? '.' : String.fromCharCode(byte)))
    const place = at.toString(16).padStart(8, '0')
    lines.push(`${place}  ${hex.padEnd(HEX_WIDTH * 3)} ${letters.join('')}`)
  }
  const shown = MOST_HEX_LINES * HEX_WIDTH
  return bytes.length > shown ? [...lines, `… ${bytes.length - shown} bytes more`] : lines
}
