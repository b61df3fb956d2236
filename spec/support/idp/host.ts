// The HTTP server of an identity provider: it keeps its port when it goes down and up again.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { deadline } from '../deadline.ts'

const WAIT_MS = 30_000

export type Handler = (request: Request, response: ServerResponse) => void

/** A request with its complete body. A handler may change both fields for later handlers. */
export interface Request extends IncomingMessage {
  url: string
  body: string
}

/** One received request, unchanged. */
export interface ProviderRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export class Host {
  readonly requests: ProviderRequest[] = []
  readonly #server: Server
  #port = 0

  constructor(handler: Handler) {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        const { method = '', url = '', headers } = request
        this.requests.push({ method, url, headers, body })
        handler(Object.assign(request, { url, body }), response)
      })
    })
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** The number of requests for this path. */
  count(path: string): number {
    return this.requests.filter(({ url }) => url.split('?')[0] === path).length
  }

  async up(): Promise<void> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(this.#port, '127.0.0.1', resolve)
    })
    await deadline(listening, WAIT_MS, 'the identity provider to listen')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async down(): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
    await deadline(closed, WAIT_MS, 'the identity provider to close')
  }
}

export function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
