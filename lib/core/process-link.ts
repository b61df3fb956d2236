// Messages between the processes of one gateway over Node's IPC channel: notifications, and requests with a response. A
// notification may carry a handle, such as a connection.

import type { SendHandle } from 'node:child_process'
import { errorMessageOf } from './errors.ts'

/** The default timeout of a request. */
const REQUEST_TIMEOUT_MS = 5_000

/** Pending requests; a further one is rejected at once. */
const MAX_PENDING_REQUESTS = 65_536

/** The wire format: a notification has no number, a response no kind. */
interface LinkMessage {
  readonly kind?: string
  readonly number?: number
  readonly body?: unknown
  readonly failure?: string
}

interface IncomingLinkMessage {
  readonly kind: string
  readonly number: number | undefined
  readonly body: unknown
}

interface PendingRequest {
  readonly resolve: (body: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

type LinkHandler = (body: unknown, handle: SendHandle | undefined) => unknown

type SendLinkMessage = (message: object, handle?: SendHandle) => void

export class ProcessLink {
  readonly #send: SendLinkMessage
  readonly #handlers = new Map<string, LinkHandler>()
  readonly #pending = new Map<number, PendingRequest>()
  #state: 'open' | 'closed' = 'open'
  #lastNumber = 0

  /** `send` puts a message on the channel; messages from the channel are passed to `receive`. */
  constructor(send: SendLinkMessage) {
    this.#send = send
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Handles messages of one kind; the returned value, or a promise of it, answers a request. */
  on(kind: string, handler: LinkHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Sends a notification; a closed link is ignored. */
  notify(kind: string, body: unknown, handle?: SendHandle): void {
    if (this.#state === 'open') this.#send({ kind, body }, handle)
  }

  /** Rejects if the other process fails, disconnects, or does not respond in time. */
  request(kind: string, body: unknown, ms = REQUEST_TIMEOUT_MS): Promise<unknown> {
    if (this.#state === 'closed') return Promise.reject(new Error(`${kind}: the link is closed`))
    if (this.#pending.size >= MAX_PENDING_REQUESTS)
      return Promise.reject(
        new Error(`${kind}: ${MAX_PENDING_REQUESTS} requests are already pending`),
      )
    const number = ++this.#lastNumber
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(number)
        reject(new Error(`${kind}: no answer after ${ms} ms`))
      }, ms)
      this.#pending.set(number, { resolve, reject, timer })
      this.#send({ kind, number, body })
    })
  }

  receive(message: unknown, handle?: SendHandle): void {
    if (this.#state === 'closed' || typeof message !== 'object' || message === null) return
    const { kind, number, body, failure } = message as LinkMessage
    if (kind !== undefined) return this.#handle({ kind, number, body }, handle)
    const pending = number === undefined ? undefined : this.#takePending(number)
    if (failure === undefined) pending?.resolve(body)
    else pending?.reject(new Error(failure))
  }

  /** The other process disconnected: all pending requests are rejected. */
  close(): void {
    this.#state = 'closed'
    for (const number of [...this.#pending.keys()])
      this.#takePending(number)?.reject(new Error('the other process disconnected'))
  }

  #takePending(number: number): PendingRequest | undefined {
    const pending = this.#pending.get(number)
    if (pending === undefined) return undefined
    this.#pending.delete(number)
    clearTimeout(pending.timer)
    return pending
  }

  #handle({ kind, number, body }: IncomingLinkMessage, handle: SendHandle | undefined): void {
    const handler = this.#handlers.get(kind)
    if (handler === undefined)
      return this.#respond(number, { failure: `unknown message kind: ${kind}` })
    const run = async (): Promise<unknown> => handler(body, handle)
    run().then(
      (result) => this.#respond(number, { body: result }),
      (error: unknown) => {
        // A notification has no response: an error in its handler is one of this process.
        if (number === undefined) throw error
        this.#respond(number, { failure: errorMessageOf(error) })
      },
    )
  }

  #respond(number: number | undefined, message: LinkMessage): void {
    if (number !== undefined && this.#state === 'open') this.#send({ number, ...message })
  }
}
