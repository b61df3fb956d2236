// The ports of a gateway of several workers: each is opened once, by the supervisor, and its connections go to the workers
// in turn. One that a worker has not taken when it ends, or closes the port, goes to the next.

import type { SendHandle } from 'node:child_process'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { Descriptors } from '../base/bounds/descriptors.ts'
import { TCP_OPTIONS } from '../base/bounds/limits.ts'
import type { Refusals } from '../base/bounds/refusals.ts'
import type { Link } from '../base/processes/link.ts'
import type { OpenedPort, OpenPort, PortPlace } from '../base/processes/open-port.ts'
import { Turn } from '../base/turn.ts'
import { closeHandle, descriptorOf, takeHandleAndDestroy } from '../base/wire/handle.ts'
import { CLOSE, CONNECTION, OPEN, CONNECTION_REFUSED, CONNECTION_TAKEN } from './messages.ts'

/** What a worker is told when it asks for a port; `code` as Node has it when it cannot be had. */
export type OpenAnswer =
  { readonly port: number } | { readonly code: string | undefined; readonly message: string }

/** Connections that a worker was given and has not taken yet; one that is so busy gets no more. */
const MAX_UNTAKEN = 64

/** Connections that wait because every worker is that busy, or none is there; above that they are closed. */
const MAX_WAITING = 4096

/** Nobody waits longer for a worker. */
const WAIT_MS = 10_000

/** A connection that is still not taken was lost on its way, for want of file descriptors mostly, or its worker stands still. */
const TAKE_MS = 30_000

const SWEEP_MS = 1_000

interface Waiting {
  readonly handle: SendHandle
  readonly until: number
}

interface Port {
  readonly key: string
  readonly place: PortPlace
  /** Null while the same port is open at another address, which those who serve it want by now. */
  opened: OpenedPort | null
  /** Who serves it, in turn. */
  readonly holders: Holder[]
  turn: number
  readonly waiting: Waiting[]
}

interface Holder {
  readonly link: Link
  untaken: number
}

interface Given {
  readonly port: Port
  readonly holder: Holder
  readonly handle: SendHandle
  readonly until: number
}

/** What both sides call it. */
export function keyOf({ host, port }: PortPlace): string {
  return `${host} ${port}`
}

export interface SharedPortsOptions {
  readonly openPort: OpenPort
  readonly refusals: Refusals
  /** A port cannot take a connection just now. */
  readonly troubled: (key: string, error: Error) => void
  readonly descriptors?: Descriptors
}

export class SharedPorts {
  readonly #openPort: OpenPort
  readonly #refusals: Refusals
  readonly #troubled: (key: string, error: Error) => void
  readonly #descriptors: Descriptors
  /** By host and port. */
  readonly #ports = new Map<string, Port>()
  /** One is opened after the other: two workers may ask for the same. */
  readonly #turn = new Turn()
  #state: 'open' | 'closed' = 'open'
  readonly #holders = new Map<Link, Holder>()
  readonly #given = new Map<number, Given>()
  #last = 0
  #timer: NodeJS.Timeout | null = null

  constructor({ openPort, refusals, troubled, descriptors }: SharedPortsOptions) {
    this.#openPort = openPort
    this.#refusals = refusals
    this.#troubled = troubled
    this.#descriptors = descriptors ?? new Descriptors()
  }

  /** A worker that may ask for ports from now on. */
  serve(link: Link): void {
    const holder: Holder = { link, untaken: 0 }
    this.#holders.set(link, holder)
    link.on(OPEN, (place) => this.#openFor(holder, place as PortPlace))
    const close = async (key: string): Promise<void> => this.#closeFor(holder, key)
    link.on(CLOSE, (key) => void this.#turn.take(() => close(String(key))))
    link.on(CONNECTION_TAKEN, (number) => this.#taken(Number(number)))
    link.on(CONNECTION_REFUSED, (number) => this.#takeBack(Number(number)))
  }

  /** The worker is gone. */
  forget(link: Link): void {
    const holder = this.#holders.get(link)
    if (holder === undefined) return
    this.#holders.delete(link)
    for (const port of this.#ports.values()) leave(port, holder)
    for (const [number, given] of this.#given) if (given.holder === holder) this.#takeBack(number)
  }

  /** Closes what no worker serves any more; for a moment when all of them are there. */
  prune(): void {
    for (const port of this.#ports.values()) if (port.holders.length === 0) this.#close(port)
  }

  close(): void {
    this.#state = 'closed'
    for (const port of this.#ports.values()) this.#close(port)
    for (const { handle } of this.#given.values()) closeHandle(handle)
    this.#given.clear()
  }

  async #openFor(holder: Holder, place: PortPlace): Promise<OpenAnswer> {
    try {
      const port = await this.#turn.take(() => this.#opened(place))
      if (this.#holders.has(holder.link)) port.holders.push(holder)
      this.#serveWaiting(port)
      return { port: port.opened?.port ?? place.port }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { code, message }
    }
  }

  /** A port is at one address: who asks for it at another has a newer configuration, or goes back to the one before. */
  async #opened(place: PortPlace): Promise<Port> {
    this.#mustBeOpen()
    const key = keyOf(place)
    const known = this.#ports.get(key)
    if (known !== undefined && known.opened !== null) return known
    const rival = this.#rivalOf(place)
    rival?.opened?.close()
    if (rival !== undefined) rival.opened = null
    const port = known ?? { key, place, opened: null, holders: [], turn: 0, waiting: [] }
    try {
      await this.#listen(port)
    } catch (error) {
      if (rival !== undefined) await this.#revive(rival)
      throw error
    }
    this.#ports.set(key, port)
    return port
  }

  #rivalOf({ host, port }: PortPlace): Port | undefined {
    if (port === 0) return undefined
    const isRival = ({ place }: Port): boolean => place.port === port && place.host !== host
    return [...this.#ports.values()].find(isRival)
  }

  async #revive(port: Port): Promise<void> {
    if (port.opened !== null || port.holders.length === 0 || this.#state === 'closed') return
    await this.#listen(port).catch((error: Error) => this.#troubled(port.key, error))
  }

  async #listen(port: Port): Promise<void> {
    const server: Server = createServer({ ...TCP_OPTIONS, pauseOnConnect: true }, (socket) => {
      // Each is held until a worker has it. Without a number the system would close it, and nobody would know.
      const isShort = this.#descriptors.isShort(descriptorOf(socket))
      if (isShort) this.#refusals.count('descriptors', this.#descriptors.limit)
      const handle = takeHandleAndDestroy(socket)
      if (handle === null) return
      if (isShort) closeHandle(handle)
      else this.#give(port, handle)
    })
    const opened = await this.#openPort(server, port.place)
    if (this.#state === 'closed') opened.close()
    this.#mustBeOpen()
    port.opened = opened
    server.on('error', (error) => this.#troubled(port.key, error))
  }

  #mustBeOpen(): void {
    if (this.#state === 'closed') throw new Error('the gateway is stopping')
  }

  #closeFor(holder: Holder, key: string): void {
    const port = this.#ports.get(key)
    if (port === undefined) return
    leave(port, holder)
    if (port.holders.length === 0) this.#close(port)
  }

  #close(port: Port): void {
    this.#ports.delete(port.key)
    port.opened?.close()
    port.opened = null
    const rival = this.#rivalOf(port.place)
    if (rival !== undefined) void this.#turn.take(() => this.#revive(rival))
    for (const { handle } of port.waiting.splice(0)) closeHandle(handle)
  }

  #give(port: Port, handle: SendHandle): void {
    const holder = nextOf(port)
    if (holder === undefined) return this.#await(port, handle)
    const number = ++this.#last
    holder.untaken++
    this.#given.set(number, { port, holder, handle, until: performance.now() + TAKE_MS })
    this.#watch()
    holder.link.tell(CONNECTION, { key: port.key, number }, handle)
  }

  #taken(number: number): void {
    const given = this.#forgetGiven(number)
    if (given === undefined) return
    closeHandle(given.handle)
    this.#serveWaiting(given.port)
  }

  #takeBack(number: number): void {
    const given = this.#forgetGiven(number)
    if (given === undefined) return
    if (this.#ports.get(given.port.key) === given.port) this.#give(given.port, given.handle)
    else closeHandle(given.handle)
  }

  #forgetGiven(number: number): Given | undefined {
    const given = this.#given.get(number)
    if (given === undefined) return undefined
    this.#given.delete(number)
    given.holder.untaken--
    return given
  }

  #await(port: Port, handle: SendHandle): void {
    if (port.waiting.length >= MAX_WAITING) {
      this.#refusals.count('workers', MAX_WAITING)
      return closeHandle(handle)
    }
    port.waiting.push({ handle, until: performance.now() + WAIT_MS })
    this.#watch()
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  #serveWaiting(port: Port): void {
    while (port.waiting.length > 0 && port.holders.some(isFree)) {
      const first = port.waiting.shift()
      if (first !== undefined) this.#give(port, first.handle)
    }
  }

  #sweep(): void {
    const now = performance.now()
    for (const [number, { until }] of this.#given) {
      if (until > now) break
      // The worker may still take it: nobody else may have it then.
      this.#taken(number)
    }
    let left = this.#given.size
    for (const { waiting } of this.#ports.values()) {
      while ((waiting[0]?.until ?? Infinity) < now) {
        const first = waiting.shift()
        if (first === undefined) break
        this.#refusals.count('workers', MAX_WAITING)
        closeHandle(first.handle)
      }
      left += waiting.length
    }
    if (left > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }
}

function isFree({ untaken }: Holder): boolean {
  return untaken < MAX_UNTAKEN
}

function nextOf(port: Port): Holder | undefined {
  const { holders } = port
  for (let tries = 0; tries < holders.length; tries++) {
    port.turn = (port.turn + 1) % holders.length
    const holder = holders[port.turn]
    if (holder !== undefined && isFree(holder)) return holder
  }
  return undefined
}

function leave({ holders }: Port, holder: Holder): void {
  const at = holders.indexOf(holder)
  if (at >= 0) holders.splice(at, 1)
}
