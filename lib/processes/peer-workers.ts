// The other workers of this gateway, as one of them sees it: a request that belongs to a session of theirs goes there, with
// its connection where that can be given away, and else by itself.

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

/** Connections that were given away and not taken yet; the request of one more is relayed. */
const MAX_GIVEN = 256

/** What was read of a connection is sent along; with more than this it stays. */
const MAX_UNREAD = 131_072

/** One that changes hands more often is used for many sessions, by a proxy mostly: it stays, and its requests are relayed. */
const MAX_MOVES = 8

/** Requests of other workers, and for one of them, at a time; one more is answered 503. */
const MAX_RELAYED = 4_096

/** For the way to another worker; its silence is for that one to judge. */
const RELAY_LIMITS = {
  connectTimeout: 2_000,
  poolIdleTimeout: 60_000,
  poolMaxAge: Number.MAX_SAFE_INTEGER,
  poolMaxSize: MAX_RELAYED,
  poolMaxWaiting: 0,
  bodyIdleTimeout: Number.MAX_SAFE_INTEGER,
}

export class PeerWorkers implements PeerConnections {
  readonly #name: string
  readonly #seat: WorkerContext
  readonly #options: PeerOptions
  readonly #pools = new ConnectionPools(RELAY_LIMITS)
  readonly #door: RelayListener
  /** Those that can be given something. */
  #peers: ReadonlySet<string> = new Set()
  /** Ports with routes to MCP backends. */
  #ports: ReadonlySet<number> = new Set()
  readonly #given = new Map<number, SendHandle>()
  #last = 0

  constructor(seat: WorkerContext, options: PeerOptions) {
    const { handler, limits } = options
    this.#seat = seat
    this.#options = options
    this.#name = workerNameOf(seat)
    this.#door = new RelayListener({
      handler,
      limits,
      maxConnections: MAX_RELAYED,
    })
    const { link } = seat
    link.on(HANDOVER_PEERS, (names) => this.#meet(names as string[]))
    link.on(HANDOVER_DONE, (number) => this.#gave(Number(number)))
    link.on(HANDOVER_DELIVER, (body, handle) => this.#take(body as HandoverMessage, handle))
  }

  /** From now on others may send here what is for this worker. */
  async listen(): Promise<void> {
    await this.#door.listen(this.#pathOf(this.#name), this.#seat.sockets)
    this.#seat.link.notify(HANDOVER_JOIN, null)
  }

  /** Another configuration is in force. */
  applyConfig({ gateways }: Config): void {
    const having = gateways.filter(({ listeners }) =>
      listeners.some(({ routes }) =>
        routes.some(({ backends }) => backends.some(({ kind }) => kind === 'mcp')),
      ),
    )
    this.#ports = new Set(having.map(({ port }) => port))
  }

  /** The ports are closed. Resolves when what others have sent is answered. */
  drain(): Promise<void> {
    this.#seat.link.notify(HANDOVER_LEAVE, null)
    return this.#door.drain()
  }

  close(): void {
    this.#door.cut()
    this.#pools.close()
  }

  /** As connections of one port see them. */
  readonly viewFromPort = (port: number): PortPeers => ({
    findOwner: (request) => this.#ownerOf(request, port),
    canHandOver: (moves, unread) =>
      moves < MAX_MOVES && unread <= MAX_UNREAD && this.#given.size < MAX_GIVEN,
    handOver: (worker, leaving) => this.#give(worker, port, leaving),
  })

  /** True for a request that another worker serves, whose answer is passed on. */
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

  #give(to: string, port: number, { handle, unread, handoverCount }: ConnectionHandover): void {
    const number = ++this.#last
    // It can be closed only when the other process has it.
    this.#given.set(number, handle)
    const given: HandoverMessage = {
      number,
      to,
      port,
      unread: unread.toString('base64'),
      handoverCount,
    }
    this.#seat.link.notify(HANDOVER_OFFER, given, handle)
  }

  /** Without a policy and without a line of its own: both are there. */
  #relay(exchange: Exchange, worker: string, bind: number): void {
    const { address, port, secure } = exchange.source
    const { version } = exchange.request
    const relayed: RelayedRequest = { address, port, secure, version, bind }
    exchange.request.set(RELAY_HEADER, JSON.stringify(relayed))
    exchange.phase = 'forward'
    new HttpBackend(this.#pools.poolFor(this.#originOf(worker)), 0).call(exchange, {
      body: exchange.body,
      answer: (reply) => {
        exchange.forwarding.servedBy = 'another worker'
        exchange.answer(reply)
      },
      fail: (cause) => {
        const message = 'the worker that has this session cannot be reached'
        exchange.fail(new GatewayError('WORKER_UNREACHABLE', message, { cause }))
      },
    })
  }

  #meet(names: readonly string[]): void {
    this.#peers = new Set(names)
    this.#pools.retain(new Set(names.map((name) => this.#originOf(name).key)))
  }

  #gave(number: number): void {
    const handle = this.#given.get(number)
    this.#given.delete(number)
    if (handle !== undefined) closeHandle(handle)
  }

  #take(
    { number, port, unread, handoverCount }: HandoverMessage,
    handle: SendHandle | undefined,
  ): void {
    this.#seat.link.notify(HANDOVER_ACCEPTED, number)
    if (handle === undefined) return
    this.#options.adoptConnection(port, {
      handle,
      unread: Buffer.from(unread, 'base64'),
      handoverCount,
    })
  }

  #originOf(worker: string): Origin {
    return createOrigin({ kind: 'unix', path: this.#pathOf(worker) }, null)
  }

  #pathOf(worker: string): string {
    return `${this.#seat.folder}/${worker}.relay`
  }
}
