// A provider over real sockets that keeps every request as it came and answers by a queue, or piece by piece as the spec
// tells it. `Backend` follows one script per connection; this follows one answer per request, whichever connection it uses.

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

/** Lets waits in this file go on when something happened. */
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
  /** Name and value of each field, as they were written. */
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

  /** What has come of it, without its framing. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get text(): string {
    return this.body.toString()
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.text) as Record<string, unknown>
  }

  /** Until so many bytes of its body are here. */
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

/** An answer that the spec sends piece by piece; its head leaves when the request is whole. */
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

  /** Somebody asked, and has been sent the head. */
  async opened(): Promise<void> {
    await this.#bell.until(() => this.#response !== null, 'a request for the stream')
  }

  /** Until it is with the kernel; what is sent in one call leaves in one write. */
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

  /** Dies in the middle: no last chunk. */
  cut(): void {
    const response = this.#open()
    this.state = 'over'
    response.destroy()
  }

  /** Until the other side has closed it. */
  async left(): Promise<void> {
    await this.#bell.until(() => this.state === 'left', 'the reader to leave')
  }

  #open(): ServerResponse {
    if (this.#response === null || this.state === 'over') throw new Error('the stream is not open')
    return this.#response
  }
}

export class LlmBackend {
  /** From the moment their heads are here. */
  readonly requests: LlmRequest[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #bell = new Bell()
  #answers: LlmAnswer[]

  private constructor(answers: LlmAnswer[]) {
    this.#answers = answers
    this.#server = createServer((message, response) => {
      const request = new LlmRequest(message, this.#bell)
      // Those who leave are no fault of the spec's.
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

  /** One answer per request, in order; the last also serves all that follow. */
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

  /** Open connections to it. */
  get connections(): number {
    return this.#sockets.size
  }

  /** From the next request on, instead of what was left. */
  answer(...answers: LlmAnswer[]): void {
    this.#answers = answers
  }

  /** The request of this number, from 1, once its head is here. */
  async asked(count: number): Promise<LlmRequest> {
    await this.#bell.until(() => this.requests.length >= count, `request ${count}`)
    return this.requests[count - 1]!
  }

  /** The same, once all of it is here. */
  async heard(count: number): Promise<LlmRequest> {
    const request = await this.asked(count)
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

/** Answers to put into the queue. */
export const answers = {
  /** One piece of JSON. */
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

  /** A whole event stream, each piece in a turn of its own, so that each is likely to be read alone. */
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

  /** 429 or 5xx, with what else the head says: `retry-after`. */
  fails(status: number, fields: Fields = {}): LlmAnswer {
    const type = status === 429 ? 'rate_limit_error' : 'server_error'
    return errorAnswer(status, { message: `the spec says ${status}`, type, code: null }, fields)
  },

  /** 400 for requests with `stream_options`, as from providers that do not know them. */
  refusesUsage(others: LlmAnswer): LlmAnswer {
    const message = 'Unrecognized request argument supplied: stream_options'
    const refuse = errorAnswer(400, { message, type: 'invalid_request_error', code: null })
    return (request, response) => {
      const answer = 'stream_options' in request.json ? refuse : others
      answer(request, response)
    }
  },

  /** Hangs up instead of an answer. */
  hangsUp(): LlmAnswer {
    return (_request, response) => void response.destroy()
  },

  /** Waits for the promise that the spec keeps or does not keep. */
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

/** A chat completion that says so many tokens were used. */
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

/** The same as the events of a stream: two words, the finish, and usage as a chunk of its own. */
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
