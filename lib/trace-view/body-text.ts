// Decodes the bytes of a body and formats them as lines: JSON, the events of a stream, text or a hex dump.

export type BodyKind = 'JSON' | 'events' | 'text' | 'binary'

export interface ReadBody {
  readonly kind: BodyKind
  /** Empty for a binary body. */
  readonly text: string
}

const EVENT_LINE = /^(?:data|event|id|retry)?:/
const LINE_END = /\r\n|\r|\n/
const MAX_HEX_LINES = 256
const HEX_WIDTH = 16

/** Decodes base64 without line ends; empty if it is not valid. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  let chars: string
  try {
    chars = atob(base64)
  } catch {
    chars = ''
  }
  const bytes = new Uint8Array(chars.length)
  for (let at = 0; at < chars.length; at++) bytes[at] = chars.charCodeAt(at)
  return bytes
}

/** Null if the bytes are not UTF-8 text; an incomplete character at the end is allowed. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return null
  }
}

/** Detects the kind from the content, and from the Content-Type `type` where that says more. */
export function readBody(bytes: Uint8Array, type: string): ReadBody {
  const text = decodeUtf8(bytes)
  if (text === null) return { kind: 'binary', text: '' }
  if (/^text\/event-stream\b/i.test(type) || (type === '' && EVENT_LINE.test(text)))
    return { kind: 'events', text }
  return { kind: isJson(text) ? 'JSON' : 'text', text }
}

export function bodyLines(bytes: Uint8Array, { kind, text }: ReadBody): string[] {
  if (kind === 'binary') return hexLines(bytes)
  if (kind === 'events') return eventLines(text)
  return (kind === 'JSON' ? jsonLines(text) : null) ?? splitLines(text)
}

export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = []
  for (let at = 0; at < bytes.length && lines.length < MAX_HEX_LINES; at += HEX_WIDTH) {
    const row = [...bytes.subarray(at, at + HEX_WIDTH)]
    const hex = row.map((byte) => `${byte.toString(16).padStart(2, '0')} `).join('')
    const chars = row.map((byte) => (byte < 32 || byte > 126 ? '.' : String.fromCharCode(byte)))
    const offset = at.toString(16).padStart(8, '0')
    lines.push(`${offset}  ${hex.padEnd(HEX_WIDTH * 3)} ${chars.join('')}`)
  }
  const shown = MAX_HEX_LINES * HEX_WIDTH
  return bytes.length > shown ? [...lines, `… ${bytes.length - shown} more bytes`] : lines
}

/** Data that is JSON is indented below its field name; other fields stay as they are. */
function eventLines(text: string): string[] {
  return splitLines(text).flatMap((line) => {
    const [, data] = /^data: ?([[{].*)$/.exec(line) ?? []
    const json = data === undefined ? null : jsonLines(data)
    return json === null ? [line] : ['data:', ...json.map((part) => `  ${part}`)]
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Null if the text is not JSON. */
function jsonLines(text: string): string[] | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n')
  } catch {
    return null
  }
}

function splitLines(text: string): string[] {
  return text.split(LINE_END)
}
