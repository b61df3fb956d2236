// The head of an answer as an HTTP/1 client gets it, and how the body goes out behind it.

import type { Reply } from '../base/types.ts'
import type { ResponseHead, Version } from '../base/wire/head.ts'
import type { Mode } from '../base/wire/writer.ts'

export function answerText(
  head: ResponseHead,
  version: Version,
  connection: 'keep' | 'close',
): string {
  const start = `HTTP/1.1 ${head.status} ${head.reason}\r\n`
  if (connection === 'close') return start + head.fieldsText() + 'connection: close\r\n\r\n'
  const end = version === 'HTTP/1.0' ? 'connection: keep-alive\r\n\r\n' : '\r\n'
  return start + head.fieldsText() + end
}

export function modeOf(reply: Reply, method: string, version: string): Mode {
  const { framing } = reply.body
  const { status } = reply.head
  if (method === 'HEAD' || status === 204 || status === 304 || framing === 'none') return 'none'
  if (framing === 'length') return 'content'
  return framing === 'chunked' && version !== 'HTTP/1.0' ? 'wire' : 'encode'
}
