// What operators and their tools ask: small HTTP servers apart from the traffic, on loopback unless told otherwise.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Refusals } from '../base/bounds/refusals.ts'
import type { AdminAddress, ProcessConfig } from '../base/config/types.ts'
import type { Endpoints, Fallback } from '../base/endpoints.ts'
import { isLoopback } from '../base/places/loopback.ts'
import type { OpenedPort, PathPlace, PortPlace } from '../base/processes/open-port.ts'
import { Sockets } from '../base/processes/sockets.ts'
import { refusalOf } from './guard.ts'
import type { Exposure } from './guard.ts'
import { clearSocket } from './unix-socket.ts'

/** What it is called, and the setting that says where it is. */
export interface Place {
  readonly name: string
  readonly setting: string
  /** How many may be connected; without it, MAX_CONNECTIONS. */
  readonly connections?: number
  readonly refusals?: Refusals | null
}

const ADMIN: Place = { name: 'the admin interface', setting: 'config.adminAddr' }

interface Bind {
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly label: string
  readonly exposure: Exposure
  /** A machine without it does without it. */
  readonly isOptional: boolean
}

const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'it is in use by another process',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
}

/** Admin requests are small and few; what is slow is cut. */
const REQUEST_TIMEOUT = 10_000
const CHECK_INTERVAL = 1_000
const MAX_CONNECTIONS = 64
/** A page has two streams, and asks for more now and then. */
const CONNECTIONS_A_READER = 2

/** Of a place that has the page. */
export function connectionsFor({ maxReaders }: Pick<ProcessConfig, 'maxReaders'>): number {
  return Math.max(MAX_CONNECTIONS, CONNECTIONS_A_READER * maxReaders)
}

export class AdminServer {
  readonly #endpoints: Endpoints
  readonly #troubled: (message: string) => void
  readonly #place: Place
  readonly #fallback: Fallback
  readonly #servers: [Server, OpenedPort][] = []

  /** `troubled`: a connection cannot be taken just now, for want of file descriptors mostly. */
  constructor(
    endpoints: Endpoints,
    troubled: (message: string) => void,
    place = ADMIN,
    fallback: Fallback = () => false,
  ) {
    this.#endpoints = endpoints
    this.#place = place
    this.#troubled = troubled
    this.#fallback = fallback
  }

  /** Where it listens, for the log; nowhere when it is off. Throws when it cannot, and listens nowhere. */
  async listen(address: AdminAddress, sockets = new Sockets()): Promise<string[]> {
    const labels: string[] = []
    for (const bind of bindsOf(address)) {
      try {
        const place = placeOf(bind)
        if ('path' in place && !sockets.isGiven(place)) await clearSocket(place.path)
        await this.#open(bind, (server) => sockets.open(server, place))
        labels.push(bind.label)
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        if (bind.isOptional && code !== 'EADDRINUSE') continue
        this.close()
        const reason = WORDS[code ?? ''] ?? message
        const { name, setting } = this.#place
        throw new Error(`cannot open ${name} (${setting}) on ${bind.label}: ${reason}`)
      }
    }
    return labels
  }

  /** No more connections come; what is being answered goes on until `close`. */
  leave(): void {
    for (const [, opened] of this.#servers) opened.close()
  }

  close(): void {
    for (const [server, opened] of this.#servers.splice(0)) {
      if (server.listening) opened.close()
      server.closeAllConnections()
    }
  }

  async #open({ exposure }: Bind, open: (server: Server) => Promise<OpenedPort>): Promise<void> {
    const server = createServer(
      {
        requestTimeout: REQUEST_TIMEOUT,
        headersTimeout: REQUEST_TIMEOUT,
        connectionsCheckingInterval: CHECK_INTERVAL,
      },
      (request, response) => void this.#serve(request, response, exposure),
    )
    const { connections = MAX_CONNECTIONS, refusals } = this.#place
    server.maxConnections = connections
    server.on('drop', () => refusals?.count('adminConnections', connections))
    this.#servers.push([server, await open(server)])
    server.on('error', ({ message }) => this.#troubled(message))
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    exposure: Exposure,
  ): Promise<void> {
    const url = urlOf(request)
    const { method = '', headers } = request
    const asked = { method, path: url?.pathname ?? '', headers }
    const refusal = refusalOf(asked, exposure, this.#place.name)
    if (refusal !== null) {
      // A page that is kept out must not keep others out by the connections it leaves behind.
      response.setHeader('connection', 'close')
      return answer(response, 403, refusal)
    }
    if (url === null) return answer(response, 404, 'not found')
    try {
      await this.#handle(request, response, url)
    } catch (error) {
      if (response.headersSent) response.destroy()
      else answer(response, 500, error instanceof Error ? error.message : 'error')
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const methods = this.#endpoints[url.pathname]
    if (methods === undefined) {
      if (!this.#fallback(request, response, url)) answer(response, 404, 'not found')
      return
    }
    const handler = methods[request.method ?? '']
    if (handler !== undefined) return handler(request, response, url)
    response.setHeader('allow', Object.keys(methods).join(', '))
    answer(response, 405, '')
  }
}

export function answer(response: ServerResponse, status: number, text: string): void {
  send(response, status, 'text/plain', text === '' ? '' : text + '\n')
}

/** Nothing but what it says: no script, no style, no frame around it. */
const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function answerPage(response: ServerResponse, html: string): void {
  response.setHeader('content-security-policy', PAGE_POLICY)
  response.setHeader('referrer-policy', 'no-referrer')
  send(response, 200, 'text/html; charset=utf-8', html)
}

export function answerJson(response: ServerResponse, value: unknown): void {
  response.setHeader('cache-control', 'no-store')
  send(response, 200, 'application/json', JSON.stringify(value, null, 2) + '\n')
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}

function urlOf(request: IncomingMessage): URL | null {
  const target = request.url ?? '/'
  return URL.canParse(target, 'http://admin') ? new URL(target, 'http://admin') : null
}

/** Not all in one: with a port that is undefined, Node passes over the path and opens a port to everyone. */
function placeOf({ host = '', port = 0, path }: Bind): PortPlace | PathPlace {
  return path === undefined ? { host, port } : { path }
}

function bindsOf(address: AdminAddress): Bind[] {
  switch (address.kind) {
    case 'off':
      return []
    case 'unix': {
      const { path } = address
      return [{ path, label: `unix:${path}`, exposure: 'unix', isOptional: false }]
    }
    case 'localhost': {
      const { port } = address
      return [
        {
          host: '127.0.0.1',
          port,
          label: `127.0.0.1:${port}`,
          exposure: 'loopback',
          isOptional: false,
        },
        { host: '::1', port, label: `[::1]:${port}`, exposure: 'loopback', isOptional: true },
      ]
    }
    case 'tcp': {
      const { host, port } = address
      const label = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
      const exposure = isLoopback(host) ? 'loopback' : 'open'
      return [{ host, port, label, exposure, isOptional: false }]
    }
  }
}
