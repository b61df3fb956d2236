// An admin interface on its own port, with the endpoints of a spec.

import { freePort } from '../../conformance/gateway-process.ts'
import { AdminServer } from '../../lib/admin/admin-server.ts'
import type { EndpointTable } from '../../lib/admin/endpoint-types.ts'
import { deadline } from './deadline.ts'
import type { Stage } from './gateway.ts'

const WAIT_MS = 30_000

export interface AdminResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Sends a request such as `GET /path`, with optional headers as a browser could send them. */
export type SendRequest = (line: string, headers?: Record<string, string>) => Promise<AdminResponse>

export async function adminWith(stage: Stage, endpoints: EndpointTable): Promise<SendRequest> {
  return senderTo((await adminOn(stage, endpoints)).port)
}

/** Like `adminWith`, for specs that send their own requests. */
export async function adminOn(stage: Stage, endpoints: EndpointTable): Promise<{ port: number }> {
  const server = stage.add(new AdminServer(endpoints, () => {}))
  const port = await freePort()
  await deadline(server.listen({ kind: 'tcp', host: '127.0.0.1', port }), WAIT_MS, 'the interface')
  return { port }
}

export function senderTo(port: number): SendRequest {
  return async (line, headers = {}) => {
    const [method = '', path = ''] = line.split(' ')
    const sent = fetch(`http://127.0.0.1:${port}${path}`, { method, headers, redirect: 'manual' })
    const response = await deadline(sent, WAIT_MS, line)
    const text = await deadline(response.text(), WAIT_MS, `the rest of ${line}`)
    return { status: response.status, headers: response.headers, text }
  }
}
