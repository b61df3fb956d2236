// Stands in for the admin interface of a gateway: answers as it is told to, and keeps what it was asked.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Handle = (response: ServerResponse, request: IncomingMessage) => void

/** What to answer, by method and path without query; anything else is 404. */
export type Script = Readonly<Record<string, Handle | string>>

export class AdminDouble {
  readonly asked: string[] = []
  readonly #server: Server

  private constructor(script: Script) {
    this.#server = createServer((request, response) => {
      const { method = '', url = '' } = request
      this.asked.push(`${method} ${url}`)
      const handle = script[`${method} ${url.replace(/\?.*$/, '')}`]
      if (handle === undefined) response.writeHead(404).end('not found\n')
      else if (typeof handle === 'string') response.end(handle)
      else handle(response, request)
    })
  }

  /** On a port of its own, or a unix socket. */
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

/** A trace of these lines, sent when `after` is done; `: ready` at once. */
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
