// A test double of the admin interface: answers by a script and records the requests.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Handle = (response: ServerResponse, request: IncomingMessage) => void

/** Responses by method and path without query; any other request gets 404. */
export type Script = Readonly<Record<string, Handle | string>>

export class AdminDouble {
  readonly requests: string[] = []
  readonly #server: Server

  private constructor(script: Script) {
    this.#server = createServer((request, response) => {
      const { method = '', url = '' } = request
      this.requests.push(`${method} ${url}`)
      const handle = script[`${method} ${url.replace(/\?.*$/, '')}`]
      if (handle === undefined) response.writeHead(404).end('not found\n')
      else if (typeof handle === 'string') response.end(handle)
      else handle(response, request)
    })
  }

  /** Listens on a free port, or on a unix socket. */
  static async open(script: Script, path?: string): Promise<AdminDouble> {
    const double = new AdminDouble(script)
    await new Promise<void>((resolve) => {
      if (path === undefined) double.#server.listen(0, '127.0.0.1', resolve)
      else double.#server.listen(path, resolve)
    })
    return double
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** Sends `: ready` at once, and the lines as a trace after `after`. */
export function traceOf(
  lines: readonly string[],
  after: Promise<void> = Promise.resolve(),
): Handle {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': ready\n\n')
    void after.then(() => {
      for (const line of lines) response.write(`data: ${line}\n\n: keepalive\n\n`)
      response.end()
    })
  }
}
