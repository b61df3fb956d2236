// Requests that no decent client sends: any Host, headers twice, any target.

import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { deadline } from '../deadline.ts'
import type { Answer } from './ask-mcp.ts'

const WAIT_MS = 30_000

export interface RawRequest {
  readonly method?: string
  /** As it stands in the request line. */
  readonly target: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/** To the server of this URL, whatever the headers say. */
export async function sendRawRequest(to: URL, odd: RawRequest): Promise<Answer> {
  const { method = 'GET', target, headers = [], body = '' } = odd
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const all = [
    ...(hasHost ? [] : [['host', to.host] as const]),
    ...headers,
    ...(body === '' ? [] : [['content-length', String(Buffer.byteLength(body))] as const]),
  ]
  const asked = new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = to
    const outgoing = httpRequest({
      hostname,
      port,
      method,
      path: target,
      agent: false,
      setHost: false,
      // Flat, as only then a name may stand there twice.
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
  return deadline(asked, WAIT_MS, `an answer to ${method} ${target.slice(0, 200)}`)
}
