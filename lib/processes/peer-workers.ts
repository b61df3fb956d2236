// The other workers of this gateway as one worker sees them: a request of a session that another worker has is handed over
// with its connection where possible, and relayed otherwise.

import type { SendHandle } from 'node:child_process'
import type { ConnectionHandover, PortPeers } from '../accept/connection-listener.ts'
import { isRelayed, RELAY_HEADER, RelayListener } from './relay-listener.ts'
import type { RelayedRequest } from './relay-listener.ts'
import type { Config } from '../config/config-types.ts'
import { toGatewayError, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import {
  HANDOVER_OFFER,
  HANDOVER_DONE,
  HANDOVER_JOIN,
  HANDOVER_LEAVE,
  HANDOVER_PEERS,
  HANDOVER_DELIVER,
  HANDOVER_ACCEPTED,
} from './worker-messages.ts'
import type { HandoverMessage } from './worker-messages.ts'
import { findSessionWorker, workerNameOf } from '../core/session-owner.ts'
import { closeHandle } from '../core/socket-handle.ts'
import type { RequestHead } from '../core/head.ts'
import { HttpBackend } from '../forward/http/http-backend.ts'
import { ConnectionPools, createOrigin } from '../forward/http/pools.ts'
import type { Origin } from '../forward/http/pools.ts'
import type { PeerConnections, PeerOptions } from '../gateway.ts'
import type { WorkerContext } from './worker-context.ts'

/** Connections that were offered and not accepted yet; the next request is relayed instead. */
const MAX_OFFERED = 256

/** Unread bytes are sent with the connection; a connection with more stays. */
const MAX_UNREAD = 131_072

/** A connection handed over more often serves many sessions, usually for a proxy: it stays and its requests are relayed. */
const MAX_MOVES = 8

/** Relayed requests at a time, from other workers and to each of them; one more is answered 503. */
const MAX_RELAYED = 4_096

/** Limits of connections to another worker; idle time is limited by the worker that serves the request. */
const RELAY_LIMITS = {
  connectTimeout: 2_000,
  poolIdleTimeout: 60_000,
  poolMaxAge: Number.MAX_SAFE_INTEGER,
  poolMaxSize: MAX_RELAYED,
  poolMaxWaiting: 0,
  bodyIdleTimeout: Number.MAX_SAFE_INTEGER,
  responseHeadTimeout: 0,
}

export class PeerWorkers implements PeerConnections {
  readonly #name: string
  readonly #context: WorkerContext
  readonly #options: PeerOptions
  readonly #pools = new ConnectionPools(RELAY_LIMITS)
  readonly #relayListener: RelayListener
  /** Workers that accept connections. */
  #peers: ReadonlySet<string> = new Set()
  /** Ports with routes to MCP backends. */
  #ports: ReadonlySet<number> = new Set()
  readonly #offered = new Map<number, SendHandle>()
  #lastNumber = 0

  constructor(context: WorkerContext, options: PeerOptions) {
    const { handler, limits } = options
    this.#context = context
    this.#options = options
    this.#name = workerNameOf(context)
    this.#relayListener = new RelayListener({
      handler,
      limits,
      maxConnections: MAX_RELAYED,
    })
    const { link } = context
    link.on(HANDOVER_PEERS, (names) => this.#setPeers(names as string[]))
    link.on(HANDOVER_DONE, (number) => this.#closeOffered(Number(number)))
    link.on(HANDOVER_DELIVER, (body, handle) => this.#adopt(body as HandoverMessage, handle))
  }

  /** From now on other workers may relay requests and hand over connections to this one. */
  async listen(): Promise<void> {
    await this.#relayListener.listen(this.#pathOf(this.#name), this.#context.sockets)
    this.#context.link.notify(HANDOVER_JOIN, null)
  }

  /** Another configuration is in force. */
  applyConfig({ gateways }: Config): void {
    const withMcp = gateways.filter(({ listeners }) =>
      listeners.some(({ routes }) =>
        routes.some(({ backends }) => backends.some(({ kind }) => kind === 'mcp')),
      ),
    )
    this.#ports = new Set(withMcp.map(({ port }) => port))
  }

  /** Called when the ports are closed. Resolves when relayed requests are answered. */
  drain(): Promise<void> {
    this.#context.link.notify(HANDOVER_LEAVE, null)
    return this.#relayListener.drain()
  }

  close(): void {
    this.#relayListener.cut()
    this.#pools.close()
  }

  /** The peers as connections of one port see them. */
  readonly viewFromPort = (port: number): PortPeers => ({
    findOwner: (request) => this.#ownerOf(request, port),
    canHandOver: (moves, unread) =>
      moves < MAX_MOVES && unread <= MAX_UNREAD && this.#offered.size < MAX_OFFERED,
    handOver: (worker, leaving) => this.#offer(worker, port, leaving),
  })

  /** True for a request that another worker serves; its response is passed on. */
  relayToOwner(exchange: Exchange, port: number): boolean {
    // A request that another worker relayed here is served here, even if the session is unknown.
    if (isRelayed(exchange.source)) return false
    const worker = this.#ownerOf(exchange.request, port)
    if (worker === null) return false
    try {
      this.#relay(exchange, worker, port)
    } catch (error) {
      exchange.fail(toGatewayError(error))
    }
    return true
  }

  #ownerOf(request: RequestHead, port: number): string | null {
    if (!this.#ports.has(port)) return null
    const worker = findSessionWorker(request)
    return worker !== null && worker !== this.#name && this.#peers.has(worker) ? worker : null
  }

  #offer(to: string, port: number, { handle, unread, handoverCount }: ConnectionHandover): void {
    const number = ++this.#lastNumber
    // The handle may be closed only after the other process has it.
    this.#offered.set(number, handle)
    const message: HandoverMessage = {
      number,
      to,
      port,
      unread: unread.toString('base64'),
      moves: handoverCount,
    }
    this.#context.link.notify(HANDOVER_OFFER, message, handle)
  }

  /** Without policies and an access log line: the owning worker has both. */
  #relay(exchange: Exchange, worker: string, bind: number): void {
    const { address, port, secure } = exchange.source
    const { version } = exchange.request
    const relayed: RelayedRequest = { address, port, secure, version, bind }
    exchange.request.set(RELAY_HEADER, JSON.stringify(relayed))
    exchange.phase = 'forward'
    new HttpBackend(this.#pools.poolFor(this.#originOf(worker)), 0).call(exchange, {
      body: exchange.body,
      answer: (reply) => {
        exchange.servedBy = 'another worker'
        exchange.answer(reply)
      },
      fail: (cause) => {
        const message = 'the worker that has this session is unreachable'
        exchange.fail(new GatewayError('WORKER_UNREACHABLE', message, { cause }))
      },
    })
  }

  #setPeers(names: readonly string[]): void {
    this.#peers = new Set(names)
    this.#pools.retain(new Set(names.map((name) => this.#originOf(name).key)))
  }

  #closeOffered(number: number): void {
    const handle = this.#offered.get(number)
    this.#offered.delete(number)
    if (handle !== undefined) closeHandle(handle)
  }

  #adopt({ number, port, unread, moves }: HandoverMessage, handle: SendHandle | undefined): void {
    this.#context.link.notify(HANDOVER_ACCEPTED, number)
    if (handle === undefined) return
    this.#options.adoptConnection(port, {
      handle,
      unread: Buffer.from(unread, 'base64'),
      handoverCount: moves,
    })
  }

  #originOf(worker: string): Origin {
    return createOrigin({ kind: 'unix', path: this.#pathOf(worker) }, null, '1.1')
  }

  #pathOf(worker: string): string {
    return `${this.#context.folder}/${worker}.relay`
  }
}
