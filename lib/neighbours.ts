// The other workers of this gateway, as one of them sees it: a request that belongs to a session of theirs goes there, with
// its connection where that can be given away, and else by itself.

import type { SendHandle } from 'node:child_process'
import type { Leaving, PortNeighbours } from './accept/door.ts'
import { RELAY_FIELD, RelayDoor } from './accept/relay-door.ts'
import type { Relayed } from './accept/relay-door.ts'
import type { PortLimits } from './base/bounds/limits.ts'
import type { Config } from './base/config/types.ts'
import { faultOf, GatewayError } from './base/errors.ts'
import type { Exchange } from './base/exchange.ts'
import { GIVE, GIVEN, JOIN, LEAVE, PEERS, TAKE, TAKEN } from './base/processes/giving.ts'
import type { Given } from './base/processes/giving.ts'
import { workerIn, workerName } from './base/processes/session-mark.ts'
import type { Steps } from './base/types.ts'
import { closeHandle } from './base/wire/handle.ts'
import type { RequestHead } from './base/wire/head.ts'
import { HttpBackend } from './forward/http/backend.ts'
import { originOf } from './forward/http/origin.ts'
import type { Origin } from './forward/http/origin.ts'
import { Pools } from './forward/http/pools.ts'
import type { WorkerSeat } from './workers/seat.ts'

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

export interface NeighboursOptions {
  /** Serves what others send here. */
  readonly serving: Steps & { serve(exchange: Exchange, port: number): void }
  readonly limits: () => PortLimits
  /** Takes over a connection that another worker accepted. */
  readonly adopt: (port: number, leaving: Leaving) => void
}

export class Neighbours {
  readonly #name: string
  readonly #seat: WorkerSeat
  readonly #options: NeighboursOptions
  readonly #pools = new Pools(RELAY_LIMITS)
  readonly #door: RelayDoor
  /** Those that can be given something. */
  #peers: ReadonlySet<string> = new Set()
  /** Ports with routes to MCP backends. */
  #ports: ReadonlySet<number> = new Set()
  readonly #given = new Map<number, SendHandle>()
  #last = 0

  constructor(seat: WorkerSeat, options: NeighboursOptions) {
    const { serving, limits } = options
    this.#seat = seat
    this.#options = options
    this.#name = workerName(seat)
    this.#door = new RelayDoor({
      steps: serving,
      limits,
      most: MAX_RELAYED,
      serve: (exchange, port) => serving.serve(exchange, port),
    })
    const { link } = seat
    link.on(PEERS, (names) => this.#meet(names as string[]))
    link.on(GIVEN, (number) => this.#gave(Number(number)))
    link.on(TAKE, (body, handle) => this.#take(body as Given, handle))
  }

  /** From now on others may send here what is for this worker. */
  async open(): Promise<void> {
    await this.#door.listen(this.#pathOf(this.#name), this.#seat.sockets)
    this.#seat.link.tell(JOIN, null)
  }

  /** Another configuration is in force. */
  follow({ gateways }: Config): void {
    const having = gateways.filter(({ listeners }) =>
      listeners.some(({ routes }) =>
        routes.some(({ backends }) => backends.some(({ kind }) => kind === 'mcp')),
      ),
    )
    this.#ports = new Set(having.map(({ port }) => port))
  }

  /** The ports are closed. Resolves when what others have sent is answered. */
  drain(): Promise<void> {
    this.#seat.link.tell(LEAVE, null)
    return this.#door.drain()
  }

  close(): void {
    this.#door.cut()
    this.#pools.close()
  }

  /** As connections of one port see them. */
  readonly at = (port: number): PortNeighbours => ({
    ownerOf: (request) => this.#ownerOf(request, port),
    mayGive: (moves, unread) =>
      moves < MAX_MOVES && unread <= MAX_UNREAD && this.#given.size < MAX_GIVEN,
    give: (worker, leaving) => this.#give(worker, port, leaving),
  })

  /** True for a request that another worker serves, whose answer is passed on. */
  serve(exchange: Exchange, port: number): boolean {
    const worker = this.#ownerOf(exchange.request, port)
    if (worker === null) return false
    try {
      this.#relay(exchange, worker, port)
    } catch (error) {
      exchange.fail(faultOf(error))
    }
    return true
  }

  #ownerOf(request: RequestHead, port: number): string | null {
    if (!this.#ports.has(port)) return null
    const worker = workerIn(request)
    return worker !== null && worker !== this.#name && this.#peers.has(worker) ? worker : null
  }

  #give(to: string, port: number, { handle, unread, moves }: Leaving): void {
    const number = ++this.#last
    // It can be closed only when the other process has it.
    this.#given.set(number, handle)
    const given: Given = { number, to, port, unread: unread.toString('base64'), moves }
    this.#seat.link.tell(GIVE, given, handle)
  }

  /** Without a policy and without a line of its own: both are there. */
  #relay(exchange: Exchange, worker: string, bind: number): void {
    const { address, port, secure } = exchange.source
    const { version } = exchange.request
    const relayed: Relayed = { address, port, secure, version, bind }
    exchange.request.set(RELAY_FIELD, JSON.stringify(relayed))
    exchange.phase = 'forward'
    new HttpBackend(this.#pools.of(this.#originOf(worker)), 0).call(exchange, {
      body: exchange.body,
      answer: (reply) => {
        exchange.servedBy = 'another worker'
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

  #take({ number, port, unread, moves }: Given, handle: SendHandle | undefined): void {
    this.#seat.link.tell(TAKEN, number)
    if (handle === undefined) return
    this.#options.adopt(port, { handle, unread: Buffer.from(unread, 'base64'), moves })
  }

  #originOf(worker: string): Origin {
    return originOf({ kind: 'unix', path: this.#pathOf(worker) }, null)
  }

  #pathOf(worker: string): string {
    return `${this.#seat.folder}/${worker}.relay`
  }
}
