// What the processes of one gateway say to each other over the channel that Node gives to a child: notices, and questions
// that have an answer. A notice may bring a handle along, such as a connection.

import type { SendHandle } from 'node:child_process'
import { errorMessageOf } from './errors.ts'

/** A question that nobody answers is over after this. */
const ASK_DEADLINE = 5_000

/** Questions under way; one more is refused at once. */
const MAX_ASKED = 65_536

/** As it travels: a notice has no number, an answer no kind. */
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

/** Puts a message on the channel. */
type SendLinkMessage = (message: object, handle?: SendHandle) => void

export class ProcessLink {
  readonly #send: SendLinkMessage
  readonly #handlers = new Map<string, LinkHandler>()
  readonly #asked = new Map<number, PendingRequest>()
  #state: 'open' | 'closed' = 'open'
  #last = 0

  /** `send` puts a message on the channel. What comes from there is given to `hear`. */
  constructor(send: SendLinkMessage) {
    this.#send = send
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** What is done with messages of this kind; what it returns answers a question, and a promise may. */
  on(kind: string, handler: LinkHandler): void {
    this.#handlers.set(kind, handler)
  }

  /** Nothing comes back, not even that the other side is gone. */
  notify(kind: string, body: unknown, handle?: SendHandle): void {
    if (this.#state === 'open') this.#send({ kind, body }, handle)
  }

  /** Rejects when the other side failed, is gone, or says nothing in time. */
  request(kind: string, body: unknown, ms = ASK_DEADLINE): Promise<unknown> {
    if (this.#state === 'closed') return Promise.reject(new Error(`${kind}: the link is closed`))
    if (this.#asked.size >= MAX_ASKED)
      return Promise.reject(new Error(`${kind}: ${MAX_ASKED} questions wait already`))
    const number = ++this.#last
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#asked.delete(number)
        reject(new Error(`${kind}: no answer after ${ms} ms`))
      }, ms)
      this.#asked.set(number, { resolve, reject, timer })
      this.#send({ kind, number, body })
    })
  }

  receive(message: unknown, handle?: SendHandle): void {
    if (this.#state === 'closed' || typeof message !== 'object' || message === null) return
    const { kind, number, body, failure } = message as LinkMessage
    if (kind !== undefined) return this.#handle({ kind, number, body }, handle)
    const asked = number === undefined ? undefined : this.#take(number)
    if (failure === undefined) asked?.resolve(body)
    else asked?.reject(new Error(failure))
  }

  /** The other side is gone: whoever waits for it is told. */
  close(): void {
    this.#state = 'closed'
    for (const number of [...this.#asked.keys()])
      this.#take(number)?.reject(new Error('the other process is gone'))
  }

  #take(number: number): PendingRequest | undefined {
    const asked = this.#asked.get(number)
    if (asked === undefined) return undefined
    this.#asked.delete(number)
    clearTimeout(asked.timer)
    return asked
  }

  #handle({ kind, number, body }: IncomingLinkMessage, handle: SendHandle | undefined): void {
    const handler = this.#handlers.get(kind)
    if (handler === undefined) return this.#answer(number, { failure: `nobody here knows ${kind}` })
    const answer = async (): Promise<unknown> => handler(body, handle)
    answer().then(
      (given) => this.#answer(number, { body: given }),
      (error: unknown) => {
        // Nobody waits for the answer to a notice: a fault in it is one of this process.
        if (number === undefined) throw error
        this.#answer(number, { failure: errorMessageOf(error) })
      },
    )
  }

  #answer(number: number | undefined, message: LinkMessage): void {
    if (number !== undefined && this.#state === 'open') this.#send({ number, ...message })
  }
}
