// An LLM provider over real sockets that records every request and answers from a queue, or piece by piece.
// `Backend` has one script per connection; this has one answer per request, on any connection.

import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { constants, createGzip, gzipSync } from 'node:zlib'
import type { Gzip } from 'node:zlib'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

export type LlmAnswer = (request: LlmRequest, response: ServerResponse) => void
type Fields = Record<string, string>
type Encoding = 'identity' | 'gzip'

/** Wakes the waits in this file after an event. */
class Bell {
  #wake: (() => void)[] = []

  ring(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  async until(isSo: () => boolean, what: string): Promise<void> {
    while (!isSo()) {
      const rung = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(rung, WAIT_MS, what)
    }
  }
}

export class LlmRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** Name and value of each field, unchanged. */
  readonly rawHeaders: readonly string[]
  state: 'coming' | 'whole' | 'gone' = 'coming'
  readonly #chunks: Buffer[] = []
  readonly #bell: Bell

  constructor(message: IncomingMessage, bell: Bell) {
    this.method = message.method ?? ''
    this.target = message.url ?? ''
    this.headers = message.headers
    this.rawHeaders = message.rawHeaders
    this.#bell = bell
    message.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      bell.ring()
    })
    message.on('end', () => this.#move('whole'))
    message.on('close', () => this.#move('gone'))
    message.on('error', () => this.#move('gone'))
  }

  /** The received part of the body, without its framing. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get text(): string {
    return this.body.toString()
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>
  }

  /** Waits until this many bytes of the body are received. */
  async received(bytes: number): Promise<void> {
    const isSo = (): boolean => this.body.length >= bytes
    await this.#bell.until(isSo, `${bytes} bytes of a request`)
  }

  async whole(): Promise<void> {
    await this.#bell.until(() => this.state !== 'coming', 'the end of a request')
  }

  #move(state: 'whole' | 'gone'): void {
    if (this.state === 'coming') this.state = state
    this.#bell.ring()
  }
}

/** A response that the spec sends piece by piece; the head is sent when the request is complete. */
export class LlmStream {
  state: 'unasked' | 'open' | 'left' | 'over' = 'unasked'
  readonly #bell = new Bell()
  readonly #fields: Fields
  readonly #gzip: Gzip | null
  #response: ServerResponse | null = null

  constructor(fields: Fields = {}, encoding: Encoding = 'identity') {
    const encoded: Fields = encoding === 'gzip' ? { 'content-encoding': 'gzip' } : {}
    this.#fields = { 'content-type': 'text/event-stream', ...encoded, ...fields }
    this.#gzip = encoding === 'gzip' ? createGzip() : null
  }

  readonly answer: LlmAnswer = (_request, response) => {
    if (this.#response !== null) return scriptEnds(response)
    this.#response = response
    this.state = 'open'
    response.on('close', () => {
      if (this.state === 'open') this.state = 'left'
      this.#bell.ring()
    })
    this.#gzip?.on('data', (bytes: Buffer) => response.write(bytes))
    this.#gzip?.on('end', () => response.end())
    response.writeHead(200, this.#fields).flushHeaders()
    this.#bell.ring()
  }

  /** Waits until a request has arrived and the head was sent. */
  async opened(): Promise<void> {
    await this.#bell.until(() => this.#response !== null, 'a request for the stream')
  }

  /** Waits until the kernel has the bytes; one call is one write. */
  async send(piece: Buffer | string): Promise<void> {
    const response = this.#open()
    const written = new Promise<void>((resolve) => {
      if (this.#gzip === null) return void response.write(piece, () => resolve())
      this.#gzip.write(piece)
      this.#gzip.flush(constants.Z_SYNC_FLUSH, () => resolve())
    })
    await deadline(written, WAIT_MS, 'a piece to be sent')
  }

  end(): void {
    const response = this.#open()
    this.state = 'over'
    if (this.#gzip === null) response.end()
    else this.#gzip.end()
  }

  /** Cuts the stream before its last chunk. */
  cut(): void {
    const response = this.#open()
    this.state = 'over'
    response.destroy()
  }

  /** Waits until the other side has closed the stream. */
  async left(): Promise<void> {
    await this.#bell.until(() => this.state === 'left', 'the reader to leave')
  }

  #open(): ServerResponse {
    if (this.#response === null || this.state === 'over') throw new Error('the stream is not open')
    return this.#response
  }
}

export class LlmBackend {
  /** All requests whose heads were received. */
  readonly requests: LlmRequest[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #bell = new Bell()
  #answers: LlmAnswer[]

  private constructor(answers: LlmAnswer[]) {
    this.#answers = answers
    this.#server = createServer((message, response) => {
      const request = new LlmRequest(message, this.#bell)
      // A client that disconnects is not an error of the spec.
      response.on('error', () => {})
      message.on('end', () => this.#answer(request, response))
      this.requests.push(request)
      this.#bell.ring()
    })
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.unref()
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#server.unref()
  }

  /** One answer per request, in order; the last answer serves all later requests. */
  static async start(...answers: LlmAnswer[]): Promise<LlmBackend> {
    const backend = new LlmBackend(answers)
    const listening = new Promise<void>((resolve, reject) => {
      backend.#server.once('error', reject)
      backend.#server.listen(0, '127.0.0.1', resolve)
    })
    await deadline(listening, WAIT_MS, 'the provider to listen')
    return backend
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#sockets.size
  }

  /** Replaces the queue, from the next request on. */
  answer(...answers: LlmAnswer[]): void {
    this.#answers = answers
  }

  /** The request of this number, from 1, once its head is received. */
  async requestHead(count: number): Promise<LlmRequest> {
    await this.#bell.until(() => this.requests.length >= count, `request ${count}`)
    return this.requests[count - 1]!
  }

  /** The request of this number, once it is complete. */
  async completeRequest(count: number): Promise<LlmRequest> {
    const request = await this.requestHead(count)
    await request.whole()
    return request
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    await deadline(closed, WAIT_MS, 'the provider to close')
  }

  #answer(request: LlmRequest, response: ServerResponse): void {
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]
    ;(answer ?? ((_request, unscripted) => scriptEnds(unscripted)))(request, response)
  }
}

function scriptEnds(response: ServerResponse): void {
  response.writeHead(599).end('the script of the spec ends here')
}

/** Answers for the queue. */
export const answers = {
  /** A JSON response. */
  json(content: unknown, fields: Fields = {}, encoding: Encoding = 'identity'): LlmAnswer {
    const plain = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
    const encoded: Fields = encoding === 'gzip' ? { 'content-encoding': 'gzip' } : {}
    const bytes = encoding === 'gzip' ? gzipSync(plain) : plain
    const length = String(bytes.length)
    return (_request, response) =>
      void response
        .writeHead(200, { ...JSON_TYPE, 'content-length': length, ...encoded, ...fields })
        .end(bytes)
  },

  /** A complete event stream, each piece in its own turn of the event loop, so that each is likely to be read alone. */
  events(pieces: readonly (Buffer | string)[], fields: Fields = {}): LlmAnswer {
    return (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...fields })
      const send = (at: number): void => {
        const piece = pieces[at]
        if (piece === undefined) return void response.end()
        response.write(piece)
        setImmediate(send, at + 1)
      }
      send(0)
    }
  },

  /** 429 or 5xx, with further header fields such as `retry-after`. */
  fails(status: number, fields: Fields = {}): LlmAnswer {
    const type = status === 429 ? 'rate_limit_error' : 'server_error'
    return errorAnswer(status, { message: `the spec says ${status}`, type, code: null }, fields)
  },

  /** 400 for requests with `stream_options`, as from providers that do not support them. */
  refusesUsage(others: LlmAnswer): LlmAnswer {
    const message = 'Unrecognized request argument supplied: stream_options'
    const refuse = errorAnswer(400, { message, type: 'invalid_request_error', code: null })
    return (request, response) => {
      const answer = 'stream_options' in request.json ? refuse : others
      answer(request, response)
    }
  },

  /** Closes the connection without a response. */
  hangsUp(): LlmAnswer {
    return (_request, response) => void response.destroy()
  },

  /** Answers after a promise that the spec resolves or rejects. */
  held(until: Promise<unknown>, then: LlmAnswer): LlmAnswer {
    return (request, response) => void until.then(() => then(request, response))
  },
}

const JSON_TYPE = { 'content-type': 'application/json' }

function errorAnswer(status: number, error: unknown, fields: Fields = {}): LlmAnswer {
  const text = JSON.stringify({ error })
  return (_request, response) =>
    void response.writeHead(status, { ...JSON_TYPE, ...fields }).end(text)
}

/** A chat completion with this token usage. */
export function chatOf(input: number, output: number): Record<string, unknown> {
  const message = { role: 'assistant', content: 'ok' }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-x',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  }
}

/** The events of a chat stream: two content chunks, the finish, and a chunk with the usage. */
export function chatEventsOf(input: number, output: number): string[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-x' }
  const chunk = (delta: unknown, finish_reason: string | null): unknown => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const { usage } = chatOf(input, output)
  const data = [
    chunk({ role: 'assistant', content: 'It' }, null),
    chunk({ content: ' is' }, null),
    chunk({}, 'stop'),
    { ...head, choices: [], usage },
  ]
  return [...data.map((item) => `data: ${JSON.stringify(item)}\n\n`), 'data: [DONE]\n\n']
}
