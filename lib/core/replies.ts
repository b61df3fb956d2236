// Replies that the gateway makes itself: refusals, redirects, direct responses.

import { STATUS_CODES } from 'node:http'
import type { Body, BodyForm, BodyFraming, Reply, Sink } from './types.ts'
import { ResponseHead } from './head.ts'

/** A body whose bytes are in memory. */
export class BytesBody implements Body {
  readonly framing: BodyFraming
  readonly length: number
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.length = bytes.length
    this.framing = bytes.length === 0 ? 'none' : 'length'
  }

  start(sink: Sink, _form: BodyForm): void {
    if (this.length > 0) sink.write(this.#bytes, 0, this.length)
    sink.end(null)
  }

  pause(): void {}
  resume(): void {}
  cancel(): void {}
}

export const EMPTY_BODY: Body = new BytesBody(Buffer.alloc(0))

/** Builds a head that was not received; field names in lower case. */
export function buildResponseHead(
  status: number,
  fields: Iterable<readonly [string, string]>,
): ResponseHead {
  const head = new ResponseHead('', [], 0)
  head.status = status
  head.reason = STATUS_CODES[status] ?? ''
  for (const [name, value] of fields) head.add(name, value)
  return head
}

/** Builds a complete reply; adds content-length and date. */
export function buildReply(
  status: number,
  fields: Iterable<readonly [string, string]>,
  content: Buffer | string = '',
): Reply {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const head = buildResponseHead(status, fields)
  if (status !== 204 && status !== 304) {
    head.add('content-length', String(bytes.length))
    head.length = bytes.length
  }
  head.add('date', new Date().toUTCString())
  return { head, body: bytes.length === 0 ? EMPTY_BODY : new BytesBody(bytes), tunnel: null }
}

export function buildTextReply(
  status: number,
  text: string,
  fields: readonly (readonly [string, string])[] = [],
): Reply {
  return buildReply(status, [['content-type', 'text/plain'], ...fields], text)
}
