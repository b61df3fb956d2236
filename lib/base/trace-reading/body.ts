// What a body is, once it is unpacked: JSON, the events of a stream, text, or bytes.

import { hexLines, jsonLines, linesOf, textOf } from './bytes.ts'

export type BodyKind = 'JSON' | 'events' | 'text' | 'binary'

const EVENT_LINE = /^(?:data|event|id|retry)?:/

export interface ReadBody {
  readonly kind: BodyKind
  /** Empty for bytes that are none. */
  readonly text: string
}

/** By its content, and by `type`, the Content-Type, where that says more. */
export function readBody(bytes: Uint8Array, type: string): ReadBody {
  const text = textOf(bytes)
  if (text === null) return { kind: 'binary', text: '' }
  if (/^text\/event-stream\b/i.test(type) || (type === '' && EVENT_LINE.test(text)))
    return { kind: 'events', text }
  return { kind: isJson(text) ? 'JSON' : 'text', text }
}

/** Laid out for people, line by line. */
export function bodyLines(bytes: Uint8Array, { kind, text }: ReadBody): string[] {
  if (kind === 'binary') return hexLines(bytes)
  if (kind === 'events') return eventLines(text)
  return (kind === 'JSON' ? jsonLines(text) : null) ?? linesOf(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Each field as it is, data that is JSON below its name. */
function eventLines(text: string): string[] {
  return linesOf(text).flatMap((line) => {
    const [, data] = /^data: ?([[{].*)$/.exec(line) ?? []
    const json = data === undefined ? null : jsonLines(data)
    return json === null ? [line] : ['data:', ...json.map((part) => `  ${part}`)]
  })
}
