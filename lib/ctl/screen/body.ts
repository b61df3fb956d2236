// The body of a message for people: unpacked, and laid out as the JSON or the events it holds.

import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib'
import { bodyLines, hexLines, readBody } from '../../trace-view/body-text.ts'
import type { BodyFacts } from '../../trace-view/snapshots.ts'

export interface ShownBody {
  /** `JSON`, `events`, `text`, `binary`, with how it was packed. */
  readonly kind: string
  readonly lines: readonly string[]
}

const MAX_UNPACKED = 16 * 1024 * 1024

export function showBody(bytes: Buffer, { type, encoding }: BodyFacts): ShownBody {
  const packed = encoding.trim().toLowerCase()
  const unpacked = unpack(bytes, packed)
  if (unpacked === null || (unpacked.length === 0 && bytes.length > 0))
    return { kind: `binary, ${packed}`, lines: hexLines(bytes) }
  const note = packed === '' || packed === 'identity' ? '' : `, ${packed}`
  const body = readBody(unpacked, type)
  return { kind: body.kind + note, lines: bodyLines(unpacked, body) }
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
