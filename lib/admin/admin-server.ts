// The HTTP server for operators and their tools, separate from the traffic and on loopback by default, with its protection
// against requests of web pages.

import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import type { AdminAddress, ProcessConfig } from '../config/config-types.ts'
import { isLoopback } from '../core/addresses.ts'
import { describeListenError, ListeningSockets } from '../core/listening-sockets.ts'
import type { OpenedPort, PortAddress, SocketPath } from '../core/listening-sockets.ts'
import type { RefusalCounter } from '../core/refusal-counter.ts'
import type { EndpointTable, FallbackHandler } from './endpoint-types.ts'
import { checkAdminRequest } from './cross-site-guard.ts'
import type { AdminExposure } from './cross-site-guard.ts'

/** The name of an interface and the setting that holds its address. */
export interface AdminInterface {
  readonly name: string
  readonly setting: string
  /** Maximum of open connections; MAX_CONNECTIONS by default. */
  readonly connections?: number
  readonly refusals?: RefusalCounter | null
}

const DEFAULT_INTERFACE: AdminInterface = {
  name: 'the admin interface',
  setting: 'config.adminAddr',
}

interface AdminBind {
  readonly host?: string
  readonly port?: number
  readonly path?: string
  readonly label: string
  readonly exposure: AdminExposure
  /** A machine without this address does without it. */
  readonly isOptional: boolean
}

/** Admin requests are small and few; slow ones are cut. */
const REQUEST_TIMEOUT = 10_000
const CHECK_INTERVAL = 1_000
const MAX_CONNECTIONS = 64
/** A page keeps two streams open and sends some requests. */
const CONNECTIONS_PER_READER = 2

/** The connection limit of an interface that serves the page. */
export function maxConnectionsFor({ maxReaders }: Pick<ProcessConfig, 'maxReaders'>): number {
  return Math.max(MAX_CONNECTIONS, CONNECTIONS_PER_READER * maxReaders)
}

export class AdminServer {
  readonly #endpoints: EndpointTable
  readonly #reportError: (message: string) => void
  readonly #identity: AdminInterface
  readonly #fallback: FallbackHandler
  readonly #servers: [Server, OpenedPort][] = []

  /** `reportError`: a connection could not be accepted, mostly because file descriptors ran out. */
  constructor(
    endpoints: EndpointTable,
    reportError: (message: string) => void,
    identity = DEFAULT_INTERFACE,
    fallback: FallbackHandler = () => false,
  ) {
    this.#endpoints = endpoints
    this.#identity = identity
    this.#reportError = reportError
    this.#fallback = fallback
  }

  /** Returns the addresses for the log; none when it is off. Throws when an address cannot be opened, and closes all. */
  async listen(address: AdminAddress, sockets = new ListeningSockets()): Promise<string[]> {
    const labels: string[] = []
    for (const bind of bindsOf(address)) {
      try {
        const listenAddress = listenAddressOf(bind)
        if ('path' in listenAddress && !sockets.isInherited(listenAddress))
          await removeStaleSocket(listenAddress.path)
        await this.#open(bind, (server) => sockets.open(server, listenAddress))
        labels.push(bind.label)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (bind.isOptional && code !== 'EADDRINUSE') continue
        this.close()
        const reason = describeListenError(error as NodeJS.ErrnoException)
        const { name, setting } = this.#identity
        throw new Error(`cannot open ${name} (${setting}) on ${bind.label}: ${reason}`)
      }
    }
    return labels
  }

  /** Accepts no more connections; running requests continue until `close`. */
  stopAccepting(): void {
    for (const [, opened] of this.#servers) opened.close()
  }

  close(): void {
    for (const [server, opened] of this.#servers.splice(0)) {
      if (server.listening) opened.close()
      server.closeAllConnections()
    }
  }

  async #open(
    { exposure }: AdminBind,
    open: (server: Server) => Promise<OpenedPort>,
  ): Promise<void> {
    const { connections: limit = MAX_CONNECTIONS, refusals } = this.#identity
    const connections = new AdminConnections(limit, () =>
      refusals?.count('adminConnections', limit),
    )
    const server = createServer(
      {
        requestTimeout: REQUEST_TIMEOUT,
        headersTimeout: REQUEST_TIMEOUT,
        connectionsCheckingInterval: CHECK_INTERVAL,
      },
      (request, response) => {
        connections.serving(request.socket, response)
        void this.#serve(request, response, exposure)
      },
    )
    server.on('connection', (socket) => connections.add(socket))
    this.#servers.push([server, await open(server)])
    server.on('error', ({ message }) => this.#reportError(message))
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    exposure: AdminExposure,
  ): Promise<void> {
    const url = parseRequestUrl(request)
    const { method = '', headers } = request
    const adminRequest = { method, path: url?.pathname ?? '', headers }
    const refusal = checkAdminRequest(adminRequest, exposure, this.#identity.name)
    if (refusal !== null) {
      // Refused pages must not use up the connection limit.
      response.setHeader('connection', 'close')
      return sendText(response, 403, refusal)
    }
    if (url === null) return sendText(response, 404, 'not found')
    try {
      await this.#handle(request, response, url)
    } catch (error) {
      if (response.headersSent) response.destroy()
      else sendText(response, 500, error instanceof Error ? error.message : 'error')
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const methods = this.#endpoints[url.pathname]
    if (methods === undefined) {
      if (!this.#fallback(request, response, url)) sendText(response, 404, 'not found')
      return
    }
    const handler = methods[request.method ?? '']
    if (handler !== undefined) return handler(request, response, url)
    response.setHeader('allow', Object.keys(methods).join(', '))
    sendText(response, 405, '')
  }
}

/**
 * The connections of one admin server. When they are at their limit, the one that is idle longest is closed for a new one,
 * so that silent connections cannot keep a probe out.
 */
class AdminConnections {
  readonly #limit: number
  /** Called for each connection that is closed because of the limit. */
  readonly #onClosed: () => void
  readonly #open = new Set<Socket>()
  /** Connections without a request, the one that is idle longest first. */
  readonly #idle = new Set<Socket>()

  constructor(limit: number, onClosed: () => void) {
    this.#limit = limit
    this.#onClosed = onClosed
  }

  add(socket: Socket): void {
    if (this.#open.size >= this.#limit) {
      const [idlest = socket] = this.#idle
      this.#remove(idlest)
      idlest.destroy()
      this.#onClosed()
      if (idlest === socket) return
    }
    this.#open.add(socket)
    this.#idle.add(socket)
    socket.once('close', () => this.#remove(socket))
  }

  serving(socket: Socket, response: ServerResponse): void {
    this.#idle.delete(socket)
    response.once('close', () => {
      if (this.#open.has(socket)) this.#idle.add(socket)
    })
  }

  #remove(socket: Socket): void {
    this.#open.delete(socket)
    this.#idle.delete(socket)
  }
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  sendContent(response, status, 'text/plain', text === '' ? '' : text + '\n')
}

/** No scripts, no styles, no frames. */
const PAGE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function sendHtml(response: ServerResponse, html: string): void {
  response.setHeader('content-security-policy', PAGE_POLICY)
  response.setHeader('referrer-policy', 'no-referrer')
  sendContent(response, 200, 'text/html; charset=utf-8', html)
}

export function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('cache-control', 'no-store')
  sendContent(response, 200, 'application/json', JSON.stringify(value, null, 2) + '\n')
}

function sendContent(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
  })
  response.end(text)
}

function parseRequestUrl(request: IncomingMessage): URL | null {
  const target = request.url ?? '/'
  return URL.canParse(target, 'http://admin') ? new URL(target, 'http://admin') : null
}

/** Either a port or a path: given `port: undefined`, Node ignores the path and opens a port on all addresses. */
function listenAddressOf({ host = '', port = 0, path }: AdminBind): PortAddress | SocketPath {
  return path === undefined ? { host, port } : { path }
}

function bindsOf(address: AdminAddress): AdminBind[] {
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

/** Deletes a unix socket on which no process listens; any other file stays, and is an error. */
async function removeStaleSocket(path: string): Promise<void> {
  // Otherwise listen would fail with EACCES for any cause.
  if (!existsSync(dirname(path))) throw new Error('the folder does not exist')
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isSocket()) throw new Error('the file exists and is not a socket')
  if (await isInUse(path)) throw new Error('it is in use by another process')
  unlinkSync(path)
}

/** Only ECONNREFUSED shows that no process listens; a busy or forbidden socket fails in other ways. */
function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
  })
}
