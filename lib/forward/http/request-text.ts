// The request head as it goes to an HTTP/1 backend: the received text, minus what belongs to the client's
// hop, plus what belongs to ours.

import type { Body } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'
import type { Mode } from '../../base/wire/writer.ts'

/** How the body goes out behind the head; chunked bodies pass as they stand. */
export function modeOf(body: Body): Mode {
  switch (body.framing) {
    case 'none':
      return 'none'
    case 'length':
      return 'content'
    case 'chunked':
      return 'wire'
    case 'open':
      return 'encode'
  }
}

export function requestText(head: RequestHead, host: string | null, mode: Mode): string {
  let line = head.method + ' ' + head.target + ' HTTP/1.1\r\n'
  if (host !== null) {
    head.remove('host')
    line += 'host: ' + host + '\r\n'
  }
  // A client that speaks 1.0 may have sent none, and a try before this one may have used another.
  else if (!head.has('host')) line += 'host: ' + head.authority + '\r\n'
  if (mode === 'encode') {
    head.remove('content-length')
    head.set('transfer-encoding', 'chunked')
  }
  const end =
    head.upgrade === '' ? '\r\n' : 'connection: upgrade\r\nupgrade: ' + head.upgrade + '\r\n\r\n'
  return line + head.fieldsText() + end
}
