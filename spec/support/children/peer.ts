// JSON-RPC over standard input and output, with only the features that child processes of specs need. A method returns its result or a
// promise of it; it throws a Refusal to answer with an error.

import { createInterface } from 'node:readline'

export type Json = Record<string, unknown>

/** A request in progress. */
export interface Call {
  readonly id: unknown
  /** Resolves with the reason when the client cancels the request, which then gets no answer. */
  readonly cancelled: Promise<string>
}

export type Methods = Record<string, (params: Json, call: Call) => unknown>

export class Refusal extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The maximum of recorded notifications. */
const MAX_NOTIFICATIONS = 1_000

export class Peer {
  /** The received notifications, the latest last. */
  readonly notifications: Json[] = []
  readonly #methods: Methods
  readonly #running = new Map<unknown, (reason: string) => void>()
  readonly #asked = new Map<unknown, (message: Json) => void>()
  #next = 1

  constructor(methods: Methods) {
    this.#methods = methods
  }

  /** Serves until standard input ends; nothing else keeps the process alive. */
  listen(): void {
    createInterface({ input: process.stdin }).on('line', (line) => {
      if (line.trim() !== '') this.#received(JSON.parse(line) as Json)
    })
  }

  notify(method: string, params?: Json): void {
    this.#send({ method, params })
  }

  /** Sends a request to the client, and returns the complete response message. */
  async ask(method: string, params: Json): Promise<Json> {
    const id = `ask-${this.#next++}`
    return new Promise((resolve) => {
      this.#asked.set(id, resolve)
      this.#send({ id, method, params })
    })
  }

  #received(message: Json): void {
    const { id, method, params = {} } = message
    if (typeof method !== 'string') return this.#answered(message)
    if (id !== undefined) return void this.#call(id, method, params as Json)
    if (this.notifications.length < MAX_NOTIFICATIONS) this.notifications.push({ method, params })
    const { requestId, reason = '' } = params as Json
    if (method === 'notifications/cancelled') this.#running.get(requestId)?.(String(reason))
  }

  #answered(message: Json): void {
    const resolve = this.#asked.get(message['id'])
    this.#asked.delete(message['id'])
    resolve?.(message)
  }

  async #call(id: unknown, method: string, params: Json): Promise<void> {
    const cancelled = new Promise<string>((resolve) => this.#running.set(id, resolve))
    const gone = cancelled.then(() => undefined)
    try {
      const act = this.#methods[method]
      if (act === undefined) throw new Refusal(-32601, `method not found: ${method}`)
      const result = await Promise.race([act(params, { id, cancelled }), gone])
      if (result !== undefined) this.#send({ id, result })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.#send({ id, error: { code: error.code, message: error.message } })
    } finally {
      this.#running.delete(id)
    }
  }

  #send(message: Json): void {
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
  }
}
