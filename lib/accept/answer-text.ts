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

export function upgradeText(head: ResponseHead): string {
  const fields = `${head.fieldsText()}connection: upgrade\r\nupgrade: ${head.upgrade}\r\n`
  return `HTTP/1.1 101 ${head.reason}\r\n${fields}\r\n`
}

export function modeOf(reply: Reply, method: string, version: string): Mode {
  const { framing } = reply.body
  const { status } = reply.head
  if (method === 'HEAD' || status === 204 || status === 304 || framing === 'none') return 'none'
  if (framing === 'length') return 'content'
  return framing === 'chunked' && version !== 'HTTP/1.0' ? 'wire' : 'encode'
}

/** Has the head say how the body goes out; HTTP/1.0 knows no chunks, so that the end of the connection must tell. */
export function framed(
  { head, body }: Reply,
  mode: Mode,
  version: Version,
): 'by head' | 'by its end' {
  if (version !== 'HTTP/1.0') {
    if (mode === 'encode') {
      head.remove('content-length')
      head.set('transfer-encoding', 'chunked')
    }
    return 'by head'
  }
  if (body.framing === 'chunked') head.remove('transfer-encoding')
  return mode === 'encode' || body.framing === 'chunked' ? 'by its end' : 'by head'
}
