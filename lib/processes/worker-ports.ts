// The ports of a gateway with several workers. The supervisor opens each port once and gives its connections to the workers
// in turn; a connection that a worker had not taken when it ended or closed the port goes to the next worker.

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

/** The answer to a worker that asks for a port; `code` is Node's error code. */
type OpenPortAnswer =
  { readonly port: number } | { readonly code: string | undefined; readonly message: string }

/** Connections that a worker was sent and has not taken yet; a worker with so many gets no more. */
const MAX_UNTAKEN = 64

/** Connections that wait because every worker is busy or none runs; more are closed. */
const MAX_WAITING = 4096

/** A connection waits at most this long for a worker. */
const WAIT_MS = 10_000

/** After this time a connection counts as lost: file descriptors ran out, or the worker hangs. */
const TAKE_MS = 30_000

const SWEEP_MS = 1_000

interface WaitingConnection {
  readonly handle: SendHandle
  readonly until: number
}

interface SharedPort {
  readonly key: string
  readonly address: PortAddress
  /** Null while the same port is open at another address, because newer workers want that one. */
  opened: OpenedPort | null
  /** The workers that serve it, in turn. */
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

/** The key that supervisor and workers use for a port. */
function portKeyOf({ host, port }: PortAddress): string {
  return `${host} ${port}`
}

export interface SharedPortsOptions {
  readonly openPort: OpenPort
  readonly refusals: RefusalCounter
  /** Reports that a port cannot accept connections now. */
  readonly reportError: (key: string, error: Error) => void
  readonly descriptors?: FileDescriptors
}

export class SharedPorts {
  readonly #openPort: OpenPort
  readonly #refusals: RefusalCounter
  readonly #reportError: (key: string, error: Error) => void
  readonly #descriptors: FileDescriptors
  /** By host and port. */
  readonly #ports = new Map<string, SharedPort>()
  /** Ports are opened one after the other, as two workers may ask for the same. */
  readonly #mutex = new Mutex()
  #state: 'open' | 'closed' = 'open'
  readonly #workers = new Map<ProcessLink, PortWorker>()
  readonly #delivered = new Map<number, DeliveredConnection>()
  #lastNumber = 0
  #timer: NodeJS.Timeout | null = null

  constructor({ openPort, refusals, reportError, descriptors }: SharedPortsOptions) {
    this.#openPort = openPort
    this.#refusals = refusals
    this.#reportError = reportError
    this.#descriptors = descriptors ?? new FileDescriptors()
  }

  /** Lets a worker ask for ports from now on. */
  serve(link: ProcessLink): void {
    const worker: PortWorker = { link, untaken: 0 }
    this.#workers.set(link, worker)
    link.on(OPEN_PORT_MESSAGE, (address) => this.#openFor(worker, address as PortAddress))
    const close = async (key: string): Promise<void> => this.#closeFor(worker, key)
    link.on(CLOSE_PORT_MESSAGE, (key) => void this.#mutex.run(() => close(String(key))))
    link.on(CONNECTION_TAKEN_MESSAGE, (number) => this.#connectionTaken(Number(number)))
    link.on(CONNECTION_REFUSED_MESSAGE, (number) => this.#takeBack(Number(number)))
  }

  /** Called when the worker is gone. */
  forget(link: ProcessLink): void {
    const worker = this.#workers.get(link)
    if (worker === undefined) return
    this.#workers.delete(link)
    for (const port of this.#ports.values()) removePortWorker(port, worker)
    for (const [number, delivery] of this.#delivered)
      if (delivery.worker === worker) this.#takeBack(number)
  }

  /** Closes ports that no worker serves; called only while all workers are ready. */
  prune(): void {
    for (const port of this.#ports.values()) if (port.workers.length === 0) this.#close(port)
  }

  close(): void {
    this.#state = 'closed'
    for (const port of this.#ports.values()) this.#close(port)
    for (const { handle } of this.#delivered.values()) closeHandle(handle)
    this.#delivered.clear()
  }

  async #openFor(worker: PortWorker, address: PortAddress): Promise<OpenPortAnswer> {
    try {
      const port = await this.#mutex.run(() => this.#ensureOpen(address))
      if (this.#workers.has(worker.link)) port.workers.push(worker)
      this.#serveWaiting(port)
      return { port: port.opened?.port ?? address.port }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { code, message }
    }
  }

  /** A port is open at one address: a worker that asks for another has a newer configuration, or returns to the old one. */
  async #ensureOpen(address: PortAddress): Promise<SharedPort> {
    this.#assertOpen()
    const key = portKeyOf(address)
    const known = this.#ports.get(key)
    if (known !== undefined && known.opened !== null) return known
    const conflicting = this.#findConflicting(address)
    conflicting?.opened?.close()
    if (conflicting !== undefined) conflicting.opened = null
    const port = known ?? { key, address, opened: null, workers: [], nextIndex: 0, waiting: [] }
    try {
      await this.#listen(port)
    } catch (error) {
      if (conflicting !== undefined) await this.#reopen(conflicting)
      throw error
    }
    this.#ports.set(key, port)
    return port
  }

  #findConflicting({ host, port }: PortAddress): SharedPort | undefined {
    if (port === 0) return undefined
    const conflicts = ({ address }: SharedPort): boolean =>
      address.port === port && address.host !== host
    return [...this.#ports.values()].find(conflicts)
  }

  async #reopen(port: SharedPort): Promise<void> {
    if (port.opened !== null || port.workers.length === 0 || this.#state === 'closed') return
    await this.#listen(port).catch((error: Error) => this.#reportError(port.key, error))
  }

  async #listen(port: SharedPort): Promise<void> {
    const server: Server = createServer({ ...TCP_OPTIONS, pauseOnConnect: true }, (socket) => {
      // Held until a worker has taken it. Without a free descriptor the system would close it, and nothing would be counted.
      const isShort = this.#descriptors.leavesTooFew(descriptorOf(socket))
      if (isShort) this.#refusals.count('descriptors', this.#descriptors.limit)
      const handle = takeHandleAndDestroy(socket)
      if (handle === null) return
      if (isShort) closeHandle(handle)
      else this.#deliver(port, handle)
    })
    const opened = await this.#openPort(server, port.address)
    if (this.#state === 'closed') opened.close()
    this.#assertOpen()
    port.opened = opened
    server.on('error', (error) => this.#reportError(port.key, error))
  }

  #assertOpen(): void {
    if (this.#state === 'closed') throw new Error('the gateway is stopping')
  }

  #closeFor(worker: PortWorker, key: string): void {
    const port = this.#ports.get(key)
    if (port === undefined) return
    removePortWorker(port, worker)
    if (port.workers.length === 0) this.#close(port)
  }

  #close(port: SharedPort): void {
    this.#ports.delete(port.key)
    port.opened?.close()
    port.opened = null
    const conflicting = this.#findConflicting(port.address)
    if (conflicting !== undefined) void this.#mutex.run(() => this.#reopen(conflicting))
    for (const { handle } of port.waiting.splice(0)) closeHandle(handle)
  }

  #deliver(port: SharedPort, handle: SendHandle): void {
    const worker = selectNextWorker(port)
    if (worker === undefined) return this.#wait(port, handle)
    const number = ++this.#lastNumber
    worker.untaken++
    this.#delivered.set(number, {
      port,
      worker,
      handle,
      until: performance.now() + TAKE_MS,
    })
    this.#startSweeping()
    worker.link.notify(CONNECTION_MESSAGE, { key: port.key, number }, handle)
  }

  #connectionTaken(number: number): void {
    const delivery = this.#removeDelivery(number)
    if (delivery === undefined) return
    closeHandle(delivery.handle)
    this.#serveWaiting(delivery.port)
  }

  #takeBack(number: number): void {
    const delivery = this.#removeDelivery(number)
    if (delivery === undefined) return
    if (this.#ports.get(delivery.port.key) === delivery.port)
      this.#deliver(delivery.port, delivery.handle)
    else closeHandle(delivery.handle)
  }

  #removeDelivery(number: number): DeliveredConnection | undefined {
    const delivery = this.#delivered.get(number)
    if (delivery === undefined) return undefined
    this.#delivered.delete(number)
    delivery.worker.untaken--
    return delivery
  }

  #wait(port: SharedPort, handle: SendHandle): void {
    if (port.waiting.length >= MAX_WAITING) {
      this.#refusals.count('workers', MAX_WAITING)
      return closeHandle(handle)
    }
    port.waiting.push({ handle, until: performance.now() + WAIT_MS })
    this.#startSweeping()
  }

  #startSweeping(): void {
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
      // Not given to another worker: this one may still take it.
      this.#connectionTaken(number)
    }
    let remaining = this.#delivered.size
    for (const { waiting } of this.#ports.values()) {
      while ((waiting[0]?.until ?? Infinity) < now) {
        const first = waiting.shift()
        if (first === undefined) break
        this.#refusals.count('workers', MAX_WAITING)
        closeHandle(first.handle)
      }
      remaining += waiting.length
    }
    if (remaining > 0 || this.#timer === null) return
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
    const worker = workers[port.nextIndex]
    if (worker !== undefined && hasRoomForConnection(worker)) return worker
  }
  return undefined
}

function removePortWorker({ workers }: SharedPort, worker: PortWorker): void {
  const at = workers.indexOf(worker)
  if (at >= 0) workers.splice(at, 1)
}

/** The ports of one worker: the supervisor has them open and sends the connections. */
export class WorkerPorts {
  readonly #link: ProcessLink
  readonly #servers = new Map<string, Server>()

  constructor(link: ProcessLink) {
    this.#link = link
    link.on(CONNECTION_MESSAGE, (body, handle) => {
      if (handle !== undefined) this.#receive(body as ConnectionDelivery, handle)
    })
  }

  readonly open: OpenPort = async (server, address) => {
    const key = portKeyOf(address)
    // Before the request: the first connection may arrive before the answer.
    this.#servers.set(key, server)
    try {
      const answer = (await this.#link.request(OPEN_PORT_MESSAGE, address)) as OpenPortAnswer
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
    // Sent before the first byte is read: a connection that was not taken can be given to another worker.
    this.#link.notify(
      server === undefined ? CONNECTION_REFUSED_MESSAGE : CONNECTION_TAKEN_MESSAGE,
      number,
    )
    if (server === undefined) closeHandle(handle)
    else server.emit('connection', createSocket(handle, { pauseOnCreate: true }))
  }
}
