// A gateway in front of the demo server, and an admin interface with the playground, for specs.

import { fileURLToPath } from 'node:url'
import { freePort } from '../../../conformance/gateway-process.ts'
import { AdminServer } from '../../../lib/admin/admin-server.ts'
import type { McpLocation } from '../../../lib/admin/page-api/mcp-locations.ts'
import { listMcpLocations } from '../../../lib/admin/page-api/mcp-locations.ts'
import { createPlayground } from '../../../lib/admin/playground/playground-endpoints.ts'
import { deadline } from '../../support/deadline.ts'
import type { RunningGateway, Stage } from '../../support/gateway.ts'

const WAIT_MS = 30_000

const DEMO = fileURLToPath(new URL('../../../bin/mcp-demo.js', import.meta.url))

/** One target as YAML. */
export const TARGET = `{ name: demo, stdio: { cmd: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(DEMO)}] } }`

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** The playground of a gateway on its own admin interface. */
export class Demo {
  readonly gateway: RunningGateway
  readonly port: number

  private constructor(gateway: RunningGateway, port: number) {
    this.gateway = gateway
    this.port = port
  }

  /** `other` adds places that the gateway itself does not have. */
  static async start(stage: Stage, text: string, other: McpLocation[] = []): Promise<Demo> {
    const gateway = await stage.gateway(text)
    const port = await freePort()
    const places = (): McpLocation[] => [...listMcpLocations(gateway.plan.config), ...other]
    const { endpoints } = stage.add(createPlayground(places))
    const server = stage.add(new AdminServer(endpoints, () => {}))
    const listening = server.listen({ kind: 'tcp', host: '127.0.0.1', port })
    await deadline(listening, WAIT_MS, 'the admin interface')
    return new Demo(gateway, port)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get place(): McpLocation {
    return listMcpLocations(this.gateway.plan.config)[0]!
  }

  /** The relay URL of the backend, or of another one. */
  url(path = this.place.path, backend = this.place.backend.key): string {
    const query = new URLSearchParams({ backend, path })
    return `${this.origin}/api/playground?${query.toString()}`
  }

  async ask(url: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answered> {
    const init = { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) }
    const response = await deadline(fetch(url, init as RequestInit), WAIT_MS, `${method} ${url}`)
    const text = await deadline(response.text(), WAIT_MS, `the rest of ${method} ${url}`)
    return { status: response.status, headers: response.headers, text }
  }

  /** A message to the backend, as an MCP client posts it. */
  async post(message: object, headers: Record<string, string> = {}): Promise<Answered> {
    return this.ask(this.url(), {
      method: 'POST',
      headers: { ...POSTED, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  }
}

export const POSTED = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

export const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'spec', version: '1' },
  },
}
