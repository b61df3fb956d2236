// A TCP client for raw bytes. Its socket does not keep the process alive: only the deadlines do.

import { connect } from 'node:net'
import type { NetConnectOpts, Socket } from 'node:net'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

export interface Arrival {
  at: number
  bytes: Buffer
}

export class RawClient {
  readonly socket: Socket
  readonly arrivals: Arrival[] = []
  /** How the connection ended; `open` before. */
  end: 'open' | 'closed' | 'reset' = 'open'
  #text = ''
  #wake: (() => void)[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    socket.unref()
    socket.on('data', (bytes) => {
      this.arrivals.push({ at: performance.now(), bytes })
      this.#text += bytes.toString('latin1')
      this.#notify()
    })
    socket.on('end', () => this.#ended('closed'))
    socket.on('error', () => this.#ended('reset'))
    socket.on('close', () => this.#ended('closed'))
  }

  static async connect(target: number | NetConnectOpts): Promise<RawClient> {
    const options = typeof target === 'number' ? { port: target, host: '127.0.0.1' } : target
    const socket = connect({ ...options, noDelay: true, allowHalfOpen: true })
    const opened = new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    await deadline(opened, WAIT_MS, 'a connection')
    return new RawClient(socket)
  }

  /** Everything received so far, as latin1. */
  get text(): string {
    return this.#text
  }

  /** Removes the first `count` received characters and returns them. */
  take(count: number): string {
    const taken = this.#text.substring(0, count)
    this.#text = this.#text.substring(count)
    return taken
  }

  send(bytes: Buffer | string): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Sends each chunk in its own turn of the event loop, so that each is likely to be read alone. */
  async sendApart(chunks: Iterable<Buffer>): Promise<void> {
    for (const chunk of chunks) {
      if (this.socket.destroyed) return
      this.send(chunk)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Waits until the received text fits; fails when the connection ends before it does. */
  async until(fits: RegExp | ((text: string) => boolean), ms = WAIT_MS): Promise<string> {
    const test = typeof fits === 'function' ? fits : (text: string) => fits.test(text)
    await this.settled(() => test(this.#text), ms, String(fits))
    if (!test(this.#text))
      throw new Error(
        `connection ${this.end} with ${JSON.stringify(this.#text)}, not ${String(fits)}`,
      )
    return this.#text
  }

  async untilBytes(count: number, ms = WAIT_MS): Promise<string> {
    return this.until((text) => text.length >= count, ms)
  }

  /** Waits until the other side has closed or reset the connection. */
  async untilClosed(ms = WAIT_MS): Promise<string> {
    await this.settled(() => false, ms, `the end of the connection`)
    return this.#text
  }

  /** Waits until `done`, or until the connection has ended. */
  async settled(done: () => boolean, ms: number, what: string): Promise<void> {
    while (!done() && this.end === 'open')
      await deadline(new Promise<void>((resolve) => this.#wake.push(resolve)), ms, what)
  }

  /** Ends the writing half; still reads. */
  halfClose(): void {
    this.socket.end()
  }

  reset(): void {
    this.socket.resetAndDestroy()
  }

  destroy(): void {
    this.socket.destroy()
  }

  #ended(how: 'closed' | 'reset'): void {
    if (this.end === 'open') this.end = how
    this.#notify()
  }

  #notify(): void {
    const woken = this.#wake
    this.#wake = []
    for (const wake of woken) wake()
  }
}
