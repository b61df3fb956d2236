// The ports of a gateway of several workers: each is opened once, by the supervisor, and its connections go to the workers
// in turn. One that a worker has not taken when it ends, or closes the port, goes to the next.

import type { SendHandle } from 'node:child_process'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { TCP_OPTIONS } from '../core/bounds.ts'
import { FileDescriptors } from '../core/descriptors.ts'
import type { OpenedPort, OpenPort, PortAddress } from '../core/listening-sockets.ts'
import type { ProcessLink } from '../core/process-link.ts'
import type { RefusalCounter } from '../core/refusal-counter.ts'
import { Mutex } from '../core/scheduling.ts'
import {
  closeHandle,
  createSocket,
  descriptorOf,
  takeHandleAndDestroy,
} from '../core/socket-handle.ts'
import {
  CLOSE_PORT_MESSAGE,
  CONNECTION_MESSAGE,
  CONNECTION_REFUSED_MESSAGE,
  CONNECTION_TAKEN_MESSAGE,
  OPEN_PORT_MESSAGE,
} from './worker-messages.ts'
import type { ConnectionDelivery } from './worker-messages.ts'

/** What a worker is told when it asks for a port; `code` as Node has it when it cannot be had. */
type OpenPortAnswer =
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

interface WaitingConnection {
  readonly handle: SendHandle
  readonly until: number
}

interface SharedPort {
  readonly key: string
  readonly place: PortAddress
  /** Null while the same port is open at another address, which those who serve it want by now. */
  opened: OpenedPort | null
  /** Who serves it, in turn. */
  readonly workers: PortWorker[]
  nextIndex: number
  readonly waiting: WaitingConnection[]
}

interface PortWorker {
  readonly link: ProcessLink
  untaken: number
}

interface DeliveredConnection {
  readonly port: SharedPort
  readonly worker: PortWorker
  readonly handle: SendHandle
  readonly until: number
}

/** What both sides call it. */
function portKeyOf({ host, port }: PortAddress): string {
  return `${host} ${port}`
}

export interface SharedPortsOptions {
  readonly openPort: OpenPort
  readonly refusals: RefusalCounter
  /** A port cannot take a connection just now. */
  readonly troubled: (key: string, error: Error) => void
  readonly descriptors?: FileDescriptors
}

export class SharedPorts {
  readonly #openPort: OpenPort
  readonly #refusals: RefusalCounter
  readonly #troubled: (key: string, error: Error) => void
  readonly #descriptors: FileDescriptors
  /** By host and port. */
  readonly #ports = new Map<string, SharedPort>()
  /** One is opened after the other: two workers may ask for the same. */
  readonly #mutex = new Mutex()
  #state: 'open' | 'closed' = 'open'
  readonly #workers = new Map<ProcessLink, PortWorker>()
  readonly #delivered = new Map<number, DeliveredConnection>()
  #last = 0
  #timer: NodeJS.Timeout | null = null

  constructor({ openPort, refusals, troubled, descriptors }: SharedPortsOptions) {
    this.#openPort = openPort
    this.#refusals = refusals
    this.#troubled = troubled
    this.#descriptors = descriptors ?? new FileDescriptors()
  }

  /** A worker that may ask for ports from now on. */
  serve(link: ProcessLink): void {
    const holder: PortWorker = { link, untaken: 0 }
    this.#workers.set(link, holder)
    link.on(OPEN_PORT_MESSAGE, (place) => this.#openFor(holder, place as PortAddress))
    const close = async (key: string): Promise<void> => this.#closeFor(holder, key)
    link.on(CLOSE_PORT_MESSAGE, (key) => void this.#mutex.run(() => close(String(key))))
    link.on(CONNECTION_TAKEN_MESSAGE, (number) => this.#connectionTaken(Number(number)))
    link.on(CONNECTION_REFUSED_MESSAGE, (number) => this.#takeBack(Number(number)))
  }

  /** The worker is gone. */
  forget(link: ProcessLink): void {
    const holder = this.#workers.get(link)
    if (holder === undefined) return
    this.#workers.delete(link)
    for (const port of this.#ports.values()) removePortWorker(port, holder)
    for (const [number, given] of this.#delivered)
      if (given.worker === holder) this.#takeBack(number)
  }

  /** Closes what no worker serves any more; for a moment when all of them are there. */
  prune(): void {
    for (const port of this.#ports.values()) if (port.workers.length === 0) this.#close(port)
  }

  close(): void {
    this.#state = 'closed'
    for (const port of this.#ports.values()) this.#close(port)
    for (const { handle } of this.#delivered.values()) closeHandle(handle)
    this.#delivered.clear()
  }

  async #openFor(holder: PortWorker, place: PortAddress): Promise<OpenPortAnswer> {
    try {
      const port = await this.#mutex.run(() => this.#opened(place))
      if (this.#workers.has(holder.link)) port.workers.push(holder)
      this.#serveWaiting(port)
      return { port: port.opened?.port ?? place.port }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { code, message }
    }
  }

  /** A port is at one address: who asks for it at another has a newer configuration, or goes back to the one before. */
  async #opened(place: PortAddress): Promise<SharedPort> {
    this.#mustBeOpen()
    const key = portKeyOf(place)
    const known = this.#ports.get(key)
    if (known !== undefined && known.opened !== null) return known
    const rival = this.#sameNumberAs(place)
    rival?.opened?.close()
    if (rival !== undefined) rival.opened = null
    const port = known ?? { key, place, opened: null, workers: [], nextIndex: 0, waiting: [] }
    try {
      await this.#listen(port)
    } catch (error) {
      if (rival !== undefined) await this.#revive(rival)
      throw error
    }
    this.#ports.set(key, port)
    return port
  }

  #sameNumberAs({ host, port }: PortAddress): SharedPort | undefined {
    if (port === 0) return undefined
    const isRival = ({ place }: SharedPort): boolean => place.port === port && place.host !== host
    return [...this.#ports.values()].find(isRival)
  }

  async #revive(port: SharedPort): Promise<void> {
    if (port.opened !== null || port.workers.length === 0 || this.#state === 'closed') return
    await this.#listen(port).catch((error: Error) => this.#troubled(port.key, error))
  }

  async #listen(port: SharedPort): Promise<void> {
    const server: Server = createServer({ ...TCP_OPTIONS, pauseOnConnect: true }, (socket) => {
      // Each is held until a worker has it. Without a number the system would close it, and nobody would know.
      const isShort = this.#descriptors.leavesTooFew(descriptorOf(socket))
      if (isShort) this.#refusals.count('descriptors', this.#descriptors.limit)
      const handle = takeHandleAndDestroy(socket)
      if (handle === null) return
      if (isShort) closeHandle(handle)
      else this.#deliver(port, handle)
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

  #closeFor(holder: PortWorker, key: string): void {
    const port = this.#ports.get(key)
    if (port === undefined) return
    removePortWorker(port, holder)
    if (port.workers.length === 0) this.#close(port)
  }

  #close(port: SharedPort): void {
    this.#ports.delete(port.key)
    port.opened?.close()
    port.opened = null
    const rival = this.#sameNumberAs(port.place)
    if (rival !== undefined) void this.#mutex.run(() => this.#revive(rival))
    for (const { handle } of port.waiting.splice(0)) closeHandle(handle)
  }

  #deliver(port: SharedPort, handle: SendHandle): void {
    const holder = selectNextWorker(port)
    if (holder === undefined) return this.#await(port, handle)
    const number = ++this.#last
    holder.untaken++
    this.#delivered.set(number, {
      port,
      worker: holder,
      handle,
      until: performance.now() + TAKE_MS,
    })
    this.#watch()
    holder.link.notify(CONNECTION_MESSAGE, { key: port.key, number }, handle)
  }

  #connectionTaken(number: number): void {
    const given = this.#forgetGiven(number)
    if (given === undefined) return
    closeHandle(given.handle)
    this.#serveWaiting(given.port)
  }

  #takeBack(number: number): void {
    const given = this.#forgetGiven(number)
    if (given === undefined) return
    if (this.#ports.get(given.port.key) === given.port) this.#deliver(given.port, given.handle)
    else closeHandle(given.handle)
  }

  #forgetGiven(number: number): DeliveredConnection | undefined {
    const given = this.#delivered.get(number)
    if (given === undefined) return undefined
    this.#delivered.delete(number)
    given.worker.untaken--
    return given
  }

  #await(port: SharedPort, handle: SendHandle): void {
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

  #serveWaiting(port: SharedPort): void {
    while (port.waiting.length > 0 && port.workers.some(hasRoomForConnection)) {
      const first = port.waiting.shift()
      if (first !== undefined) this.#deliver(port, first.handle)
    }
  }

  #sweep(): void {
    const now = performance.now()
    for (const [number, { until }] of this.#delivered) {
      if (until > now) break
      // The worker may still take it: nobody else may have it then.
      this.#connectionTaken(number)
    }
    let left = this.#delivered.size
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

function hasRoomForConnection({ untaken }: PortWorker): boolean {
  return untaken < MAX_UNTAKEN
}

function selectNextWorker(port: SharedPort): PortWorker | undefined {
  const { workers } = port
  for (let tries = 0; tries < workers.length; tries++) {
    port.nextIndex = (port.nextIndex + 1) % workers.length
    const holder = workers[port.nextIndex]
    if (holder !== undefined && hasRoomForConnection(holder)) return holder
  }
  return undefined
}

function removePortWorker({ workers }: SharedPort, holder: PortWorker): void {
  const at = workers.indexOf(holder)
  if (at >= 0) workers.splice(at, 1)
}

// The ports of a worker: the supervisor has them open, and sends the connections that are this worker's.

export class WorkerPorts {
  readonly #link: ProcessLink
  readonly #servers = new Map<string, Server>()

  constructor(link: ProcessLink) {
    this.#link = link
    link.on(CONNECTION_MESSAGE, (body, handle) => {
      if (handle !== undefined) this.#receive(body as ConnectionDelivery, handle)
    })
  }

  readonly open: OpenPort = async (server, place) => {
    const key = portKeyOf(place)
    // Before it is asked for: the first connection may be as fast as the answer.
    this.#servers.set(key, server)
    try {
      const answer = (await this.#link.request(OPEN_PORT_MESSAGE, place)) as OpenPortAnswer
      if ('port' in answer) return { port: answer.port, close: () => this.#close(key) }
      throw Object.assign(new Error(answer.message), { code: answer.code })
    } catch (error) {
      this.#servers.delete(key)
      throw error
    }
  }

  #close(key: string): void {
    if (this.#servers.delete(key)) this.#link.notify(CLOSE_PORT_MESSAGE, key)
  }

  #receive({ key, number }: ConnectionDelivery, handle: SendHandle): void {
    const server = this.#servers.get(key)
    // Told before the first byte is read: a connection that was not taken can be given to another worker.
    this.#link.notify(
      server === undefined ? CONNECTION_REFUSED_MESSAGE : CONNECTION_TAKEN_MESSAGE,
      number,
    )
    if (server === undefined) closeHandle(handle)
    else server.emit('connection', createSocket(handle, { pauseOnCreate: true }))
  }
}
