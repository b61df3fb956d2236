// Requests that normal clients do not send: any Host, repeated headers, any target.

import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { deadline } from '../deadline.ts'
import type { Answer } from './ask-mcp.ts'

const WAIT_MS = 30_000

export interface RawRequest {
  readonly method?: string
  /** The target of the request line, unchanged. */
  readonly target: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/** Connects to the server of this URL, independent of the Host header. */
export async function sendRawRequest(to: URL, request: RawRequest): Promise<Answer> {
  const { method = 'GET', target, headers = [], body = '' } = request
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const all = [
    ...(hasHost ? [] : [['host', to.host] as const]),
    ...headers,
    ...(body === '' ? [] : [['content-length', String(Buffer.byteLength(body))] as const]),
  ]
  const responded = new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = to
    const outgoing = httpRequest({
      hostname,
      port,
      method,
      path: target,
      agent: false,
      setHost: false,
      // A flat list, because only a list may repeat a name.
      headers: all.flat() as unknown as Record<string, string>,
    })
    outgoing.once('error', reject).once('response', (incoming) => {
      const fields = new Headers()
      for (let at = 0; at < incoming.rawHeaders.length; at += 2)
        fields.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!)
      text(incoming).then(
        (whole) => resolve({ status: incoming.statusCode ?? 0, headers: fields, text: whole }),
        reject,
      )
    })
    outgoing.end(body)
  })
  return deadline(responded, WAIT_MS, `an answer to ${method} ${target.slice(0, 200)}`)
}
