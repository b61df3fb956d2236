// An identity provider over plain HTTP with scripted responses, which records the received requests byte for byte.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deadline } from '../../support/deadline.ts'

export interface ReceivedRequest {
  /** Method and target. */
  readonly line: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As latin1. */
  readonly body: string
}

export interface Said {
  readonly status?: number
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
}

export class ProviderServer {
  readonly received: ReceivedRequest[] = []
  /** By method and path; `hang` never responds. */
  readonly says = new Map<string, Said | 'hang'>()
  readonly #server: Server
  #wake: () => void = () => {}

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#hear(request, response).catch(() => response.destroy())
    })
    this.#server.unref()
  }

  static async start(): Promise<ProviderServer> {
    const provider = new ProviderServer()
    await provider.#listen(0)
    return provider
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get host(): string {
    return new URL(this.origin).host
  }

  /** The request lines of all requests so far. */
  get lines(): string[] {
    return this.received.map(({ line }) => line)
  }

  /** A document at a path, as JSON. */
  offer(path: string, document: unknown): void {
    this.says.set(`GET ${path}`, { body: JSON.stringify(document) })
  }

  async untilReceived(count: number): Promise<void> {
    while (this.received.length < count) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(woken, 30_000, `${count} requests to the provider`)
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    await deadline(closed, 30_000, 'the provider to close')
  }

  async #listen(port: number): Promise<void> {
    const listening = new Promise<void>((resolve) => {
      this.#server.listen(port, '127.0.0.1', resolve)
    })
    await deadline(listening, 30_000, 'the provider to listen')
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const line = `${request.method} ${request.url}`
    this.received.push({
      line,
      headers: request.headers,
      body: Buffer.concat(parts).toString('latin1'),
    })
    this.#wake()
    const said = this.says.get(line) ?? { status: 404, body: 'nothing here' }
    if (said === 'hang') return
    const { status = 200, headers = { 'content-type': 'application/json' }, body = '' } = said
    response.writeHead(status, headers).end(body)
  }
}
