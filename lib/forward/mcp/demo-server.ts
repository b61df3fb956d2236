// The JSON-RPC half of the demo server: one message per line, requests answered by a table of methods, each of which the
// client may cancel.

import type { Readable, Writable } from 'node:stream'

export type DemoJson = Record<string, unknown>

/** A request under way. */
export interface DemoCall {
  readonly signal: AbortSignal
  /** Tells how far it is, if the client asked to be told. */
  progress(done: number, total: number): void
}

/** Returns the result, or a promise of it; throws a Refusal to answer with an error. */
export type DemoMethod = (params: DemoJson, call: DemoCall) => unknown

/** A request that is answered with an error of the protocol. */
export class DemoRpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const INVALID_PARAMS_CODE = -32602
const PARSE_ERROR_CODE = -32700
const INVALID_REQUEST_CODE = -32600
const METHOD_NOT_FOUND_CODE = -32601
const INTERNAL_ERROR_CODE = -32603
const SERVER_BUSY_CODE = -32000

const MAX_LINE_BYTES = 1 << 20
const MAX_RUNNING_CALLS = 100
const LINE_FEED = 0x0a

export class DemoPeer {
  readonly #methods: Record<string, DemoMethod>
  readonly #output: Writable
  readonly #running = new Map<unknown, AbortController>()
  #parts: Buffer[] = []
  #size = 0

  constructor(methods: Record<string, DemoMethod>, output: Writable) {
    this.#methods = methods
    this.#output = output
  }

  /** Until the input ends, and with it the session: calls under way are cancelled then. */
  listen(input: Readable): void {
    input.on('data', (chunk: Buffer) => this.#read(chunk))
    input.on('end', () => this.#running.forEach((call) => call.abort()))
  }

  notify(method: string, params: DemoJson): void {
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
    if (this.#size > MAX_LINE_BYTES) throw new Error(`a line of over ${MAX_LINE_BYTES} bytes`)
  }

  #take(line: string): void {
    if (line.trim() === '') return
    let message: DemoJson
    try {
      message = jsonObjectOrEmpty(JSON.parse(line))
    } catch {
      return this.#refuse(null, new DemoRpcError(PARSE_ERROR_CODE, 'not JSON'))
    }
    const { id, method, params } = message
    const isRequest = typeof id === 'string' || typeof id === 'number'
    if (typeof method !== 'string')
      return this.#refuse(
        isRequest ? id : null,
        new DemoRpcError(INVALID_REQUEST_CODE, 'no request'),
      )
    if (isRequest) return void this.#answer(id, method, jsonObjectOrEmpty(params))
    if (method === 'notifications/cancelled')
      this.#running.get(jsonObjectOrEmpty(params)['requestId'])?.abort()
  }

  async #answer(id: string | number, method: string, params: DemoJson): Promise<void> {
    if (this.#running.size >= MAX_RUNNING_CALLS)
      return this.#refuse(id, new DemoRpcError(SERVER_BUSY_CODE, 'too many calls at once'))
    const controller = new AbortController()
    const { signal } = controller
    this.#running.set(id, controller)
    try {
      const act = ownPropertyOf(this.#methods, method)
      if (act === undefined)
        throw new DemoRpcError(METHOD_NOT_FOUND_CODE, `Method not found: ${method}`)
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

  #progressOf(params: DemoJson): DemoCall['progress'] {
    const { progressToken } = jsonObjectOrEmpty(params['_meta'])
    if (progressToken === undefined) return () => {}
    return (progress, total) =>
      this.notify('notifications/progress', { progressToken, progress, total })
  }

  #refuse(id: unknown, error: unknown): void {
    const code = error instanceof DemoRpcError ? error.code : INTERNAL_ERROR_CODE
    this.#send({ id, error: { code, message: demoErrorMessageOf(error) } })
  }

  #send(message: DemoJson): void {
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
}

export function jsonObjectOrEmpty(value: unknown): DemoJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as DemoJson)
    : {}
}

/** Names come from the client: `constructor` is none of ours. */
export function ownPropertyOf<T>(table: Record<string, T>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

export function demoErrorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
