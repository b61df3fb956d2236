// A watch at one worker: whether it watches, then whole events of the request it was given.

import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { EventCutter } from '../base/sse/cutter.ts'

export interface TraceOwner {
  ready(): void
  /** It does not watch, and has told of no request. */
  failed(): void
  /** One or more, whole. */
  events(text: string): void
  ended(): void
  /** It broke off behind the first event. */
  cut(): void
}

export class WorkerTrace {
  readonly #owner: TraceOwner
  readonly #asking: ClientRequest
  readonly #cutter = new EventCutter()
  #response: IncomingMessage | null = null
  #state: 'asking' | 'watching' | 'telling' | 'over' = 'asking'

  constructor(socket: string, source: string | null, owner: TraceOwner) {
    const query = source === null ? '' : `?expression=${encodeURIComponent(source)}`
    this.#owner = owner
    this.#asking = request({ socketPath: socket, path: `/debug/trace${query}`, agent: false })
    this.#asking.on('error', () => this.#over())
    this.#asking.once('response', (response) => this.#read(response))
    this.#asking.end()
  }

  pause(): void {
    this.#response?.pause()
  }

  resume(): void {
    this.#response?.resume()
  }

  /** Nobody waits for it any more. */
  close(): void {
    this.#state = 'over'
    this.#asking.destroy()
  }

  #read(response: IncomingMessage): void {
    this.#response = response
    if (response.statusCode !== 200) {
      response.resume()
      return this.#over()
    }
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    response.on('end', () => this.#ended())
    response.on('error', () => this.#over())
    response.on('close', () => this.#over())
  }

  #take(text: string): void {
    if (this.#state === 'over') return
    const whole = this.#cutter.push(text)
    if (whole === null) return this.#over()
    if (whole === '') return
    if (this.#state === 'asking') {
      this.#state = 'watching'
      this.#owner.ready()
    }
    // Comments only show that it lives.
    const at = /^data:/m.exec(whole)?.index ?? -1
    if (this.#state === 'watching' && at >= 0) this.#state = 'telling'
    if (this.#state === 'telling') this.#owner.events(at < 0 ? whole : whole.slice(at))
  }

  #ended(): void {
    if (this.#state !== 'telling') return this.#over()
    this.#state = 'over'
    this.#owner.ended()
  }

  #over(): void {
    const before = this.#state
    if (before === 'over') return
    this.close()
    if (before === 'telling') this.#owner.cut()
    else this.#owner.failed()
  }
}
