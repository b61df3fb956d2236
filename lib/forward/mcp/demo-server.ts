// The JSON-RPC side of the demo MCP server: reads one message per line and answers requests from a table of methods.

import type { Readable, Writable } from 'node:stream'

export type DemoJson = Record<string, unknown>

/** A request in progress; the client may cancel it. */
export interface DemoCall {
  readonly signal: AbortSignal
  /** Sends a progress notification if the client sent a progress token. */
  progress(done: number, total: number): void
}

/** Returns the result or a promise of it; throws a DemoRpcError to answer with an error. */
export type DemoMethod = (params: DemoJson, call: DemoCall) => unknown

/** An error that is sent to the client as a JSON-RPC error. */
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

  /** Serves the input until it ends; the calls that still run are cancelled then. */
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
      // Joined once, as bytes: a character may span two chunks and a line many.
      this.#handleLine(Buffer.concat([...this.#parts, chunk.subarray(from, to)]).toString())
      this.#parts = []
      this.#size = 0
      from = to + 1
    }
    this.#parts.push(chunk.subarray(from))
    this.#size += chunk.length - from
    if (this.#size > MAX_LINE_BYTES) throw new Error(`line longer than ${MAX_LINE_BYTES} bytes`)
  }

  #handleLine(line: string): void {
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
        new DemoRpcError(INVALID_REQUEST_CODE, 'not a request'),
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
      const handler = ownPropertyOf(this.#methods, method)
      if (handler === undefined)
        throw new DemoRpcError(METHOD_NOT_FOUND_CODE, `Method not found: ${method}`)
      const progress = this.#createProgress(params)
      const result = await handler(params, { signal, progress })
      // MCP: a cancelled request gets no response.
      if (!signal.aborted) this.#send({ id, result })
    } catch (error) {
      if (!signal.aborted) this.#refuse(id, error)
    } finally {
      this.#running.delete(id)
    }
  }

  #createProgress(params: DemoJson): DemoCall['progress'] {
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

/** Reads an own property only: the name comes from the client and may be `constructor`. */
export function ownPropertyOf<T>(table: Record<string, T>, name: unknown): T | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

export function demoErrorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
