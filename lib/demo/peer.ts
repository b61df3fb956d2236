// The JSON-RPC half of the demo server: one message per line, requests answered by a table of methods, each of which the
// client may cancel.

import type { Readable, Writable } from 'node:stream'

export type Json = Record<string, unknown>

/** A request under way. */
export interface Call {
  readonly signal: AbortSignal
  /** Tells how far it is, if the client asked to be told. */
  progress(done: number, total: number): void
}

/** Returns the result, or a promise of it; throws a Refusal to answer with an error. */
export type Method = (params: Json, call: Call) => unknown

/** A request that is answered with an error of the protocol. */
export class Refusal extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const BAD_PARAMS = -32602
const NOT_JSON = -32700
const NOT_A_REQUEST = -32600
const NO_SUCH_METHOD = -32601
const FAULT = -32603
const BUSY = -32000

const MOST_LINE_BYTES = 1 << 20
const MOST_CALLS = 100
const LINE_FEED = 0x0a

export class Peer {
  readonly #methods: Record<string, Method>
  readonly #output: Writable
  readonly #running = new Map<unknown, AbortController>()
  #parts: Buffer[] = []
  #size = 0

  constructor(methods: Record<string, Method>, output: Writable) {
    this.#methods = methods
    this.#output = output
  }

  /** Until the input ends, and with it the session: calls under way are cancelled then. */
  listen(input: Readable): void {
    input.on('data', (chunk: Buffer) => this.#read(chunk))
    input.on('end', () => this.#running.forEach((call) => call.abort()))
  }

  notify(method: string, params: Json): void {
    this.#send({ method, params })
  }

  #read(chunk: Buffer): void {
    let from = 0
    for (let to = chunk.indexOf(LINE_FEED); to >= 0; to = chunk.indexOf(LINE_FEED, from)) {
      // Joined as bytes, and once: a character may lie in two chunks, and a line in many.
      this.#take(Buffer.concat([...this.#parts, chunk.subarray(from, to)]).toString())
      this.#parts = []
      this.#size = 0
      from = to + 1
    }
    this.#parts.push(chunk.subarray(from))
    this.#size += chunk.length - from
    if (this.#size > MOST_LINE_BYTES) throw new Error(`a line of over ${MOST_LINE_BYTES} bytes`)
  }

  #take(line: string): void {
    if (line.trim() === '') return
    let message: Json
    try {
      message = objectOf(JSON.parse(line))
    } catch {
      return this.#refuse(null, new Refusal(NOT_JSON, 'not JSON'))
    }
    const { id, method, params } = message
    const isRequest = typeof id === 'string' || typeof id === 'number'
    if (typeof method !== 'string')
      return this.#refuse(isRequest ? id : null, new Refusal(NOT_A_REQUEST, 'no request'))
    if (isRequest) return void this.#answer(id, method, objectOf(params))
    if (method === 'notifications/cancelled')
      this.#running.get(objectOf(params)['requestId'])?.abort()
  }

  async #answer(id: string | number, method: string, params: Json): Promise<void> {
    if (this.#running.size >= MOST_CALLS)
      return this.#refuse(id, new Refusal(BUSY, 'too many calls at once'))
    const controller = new AbortController()
    const { signal } = controller
    this.#running.set(id, controller)
    try {
      const act = ownOf(this.#methods, method)
      if (act === undefined) throw new Refusal(NO_SUCH_METHOD, `Method not found: ${method}`)
      const progress = this.#progressOf(params)
      const result = await act(params, { signal, progress })
      // Whoever cancelled a call waits for no answer.
      if (!signal.aborted) this.#send({ id, result })
    } catch (error) {
      if (!signal.aborted) this.#refuse(id, error)
    } finally {
      this.#running.delete(id)
    }
  }

  #progressOf(params: Json): Call['progress'] {
    const { progressToken } = objectOf(params['_meta'])
    if (progressToken === undefined) return () => {}
    return (progress, total) =>
      this.notify('notifications/progress', { progressToken, progress, total })
  }

  #refuse(id: unknown, error: unknown): void {
    const code = error instanceof Refusal ? error.code : FAULT
    this.#send({ id, error: { code, message: messageOf(error) } })
  }

  #send(message: Json): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

/** Names come from the client: `constructor` is none of ours. */
export function ownOf<T>(table: Record<string, T>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
