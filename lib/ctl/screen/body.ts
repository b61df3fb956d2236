// The body of a message for people: decoded, and laid out as the JSON or the events it holds.

import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib'

/** What the head said about it. */
export interface BodyFacts {
  readonly type: string
  readonly encoding: string
}

export interface ShownBody {
  /** `JSON`, `events`, `text`, `binary`, with how it was packed. */
  readonly kind: string
  readonly lines: readonly string[]
}

const MAX_UNPACKED = 16 * 1024 * 1024
const MOST_HEX_LINES = 256
const HEX_WIDTH = 16
const EVENT_LINE = /^(?:data|event|id|retry)?:/

export function showBody(bytes: Buffer, { type, encoding }: BodyFacts): ShownBody {
  const packed = encoding.trim().toLowerCase()
  const unpacked = unpack(bytes, packed)
  if (unpacked === null || (unpacked.length === 0 && bytes.length > 0))
    return { kind: `binary, ${packed}`, lines: hexLines(bytes) }
  const note = packed === '' || packed === 'identity' ? '' : `, ${packed}`
  const text = textOf(unpacked)
  if (text === null) return { kind: `binary${note}`, lines: hexLines(unpacked) }
  if (/^text\/event-stream\b/i.test(type) || (type === '' && EVENT_LINE.test(text)))
    return { kind: `events${note}`, lines: eventLines(text) }
  const json = jsonLines(text)
  if (json !== null) return { kind: `JSON${note}`, lines: json }
  return { kind: `text${note}`, lines: text.split(/\r\n|\r|\n/) }
}

/** One that was cut gives what it has; null when it is not what its head says. */
function unpack(bytes: Buffer, encoding: string): Buffer | null {
  const options = { maxOutputLength: MAX_UNPACKED, finishFlush: constants.Z_SYNC_FLUSH }
  try {
    switch (encoding) {
      case '':
      case 'identity':
        return bytes
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, options)
      case 'deflate':
        return inflateSync(bytes, options)
      case 'br':
        return brotliDecompressSync(bytes, {
          maxOutputLength: MAX_UNPACKED,
          finishFlush: constants.BROTLI_OPERATION_FLUSH,
        })
      default:
        return null
    }
  } catch {
    return null
  }
}

/** Null for what is no text; a character cut in two at the end is no reason. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return null
  }
}

function jsonLines(text: string): string[] | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n')
  } catch {
    return null
  }
}

/** Each field as it is, data that is JSON below its name. */
function eventLines(text: string): string[] {
  return text.split(/\r\n|\r|\n/).flatMap((line) => {
    const [, data] = /^data: ?([[{].*)$/.exec(line) ?? []
    const json = data === undefined ? null : jsonLines(data)
    return json === null ? [line] : ['data:', ...json.map((part) => `  ${part}`)]
  })
}

function hexLines(bytes: Buffer): string[] {
  const lines: string[] = []
  for (let at = 0; at < bytes.length && lines.length < MOST_HEX_LINES; at += HEX_WIDTH) {
    const row = bytes.subarray(at, at + HEX_WIDTH)
    const hex = row.toString('hex').replace(/../g, '$& ')
    const chars = row.toString('latin1').replace(/[^ -~]/g, '.')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(HEX_WIDTH * 3)} ${chars}`)
  }
  const shown = MOST_HEX_LINES * HEX_WIDTH
  return bytes.length > shown ? [...lines, `… ${bytes.length - shown} bytes more`] : lines
}
