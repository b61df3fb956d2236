// Where the events of a trace come from: the admin interface of a gateway, or a file with JSON lines.

import { createReadStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { EventReader } from '../text/sse-reader.ts'
import { checkedLine } from '../trace-view/trace-file.ts'
import { openResponse, readResponseBody, refusalText, statusTextOf } from './admin-client.ts'
import type { AdminAddress } from './admin-client.ts'
import type { CurlRequest } from './curl-request.ts'

export interface TraceSource {
  readonly label: string
  /** `live`: the trace of a request that is still to come. */
  readonly kind: 'live' | 'saved'
  /** One event per line, as the JSON that the gateway sent. */
  readonly lines: AsyncIterable<string>
  close(): void
}

/** The largest part of an event is a body of 2 MiB, unless the gateway is configured to keep more. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024
/** The gateway sends `: ready` when it traces; without it gwctl continues after this time. */
const READY_TIMEOUT = 2_000
/** How long the first event may take after the request was answered. */
const FIRST_EVENT_TIMEOUT = 5_000
/** How long the trace may continue after the request failed. */
const LAST_EVENT_TIMEOUT = 1_000
const LF = 10

export interface WantedTrace {
  readonly expression: string | undefined
  /** The token of the request that gwctl sends; undefined if it waits for one. */
  readonly token: string | undefined
}

export async function openTraceStream(
  address: AdminAddress,
  { expression, token }: WantedTrace,
): Promise<TraceSource> {
  const parts = Object.entries({ expression, token }).filter(([, value]) => value !== undefined)
  const query = parts.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')
  const path = `/debug/trace${query === '' ? '' : `?${query}`}`
  const response = await openResponse(address, { method: 'POST', path }).catch((error: Error) => {
    throw new Error(`failed to open trace stream: ${error.message}`, { cause: error })
  })
  if (response.statusCode !== 200) {
    const refusal = refusalText(await readResponseBody(response))
    throw new Error(`trace stream returned ${statusTextOf(response)}: ${refusal}`)
  }
  await waitForFirstBytes(response)
  let state: 'open' | 'closed' = 'open'
  return {
    label: address.label,
    kind: 'live',
    lines: streamLines(response, () => state),
    close() {
      state = 'closed'
      response.destroy()
    },
  }
}

export function openTraceFile(file: string): TraceSource {
  const stream: Readable = file === '-' ? process.stdin : createReadStream(file)
  return {
    label: file === '-' ? 'standard input' : file,
    kind: 'saved',
    lines: fileLines(stream, file),
    close: () => stream.destroy(),
  }
}

async function waitForFirstBytes(response: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, READY_TIMEOUT)
    function done(): void {
      clearTimeout(timer)
      response.off('readable', done).off('end', done).off('error', done)
      resolve()
    }
    response.once('readable', done).once('end', done).once('error', done)
  })
}

async function* streamLines(
  response: IncomingMessage,
  state: () => 'open' | 'closed',
): AsyncGenerator<string> {
  const found: string[] = []
  const reader = new EventReader(
    {
      event: (_name, data) => void found.push(data.toString()),
      retry: () => {},
      tooLong: () => {
        throw new Error(`the trace has an event larger than ${MAX_EVENT_BYTES} bytes`)
      },
    },
    MAX_EVENT_BYTES,
  )
  try {
    for await (const bytes of response as AsyncIterable<Buffer>) {
      reader.write(bytes, 0, bytes.length)
      yield* found.splice(0)
    }
  } catch (error) {
    // After close() the error only says that gwctl closed the stream.
    if (state() === 'closed') return
    throw new Error(`the trace stream broke off: ${(error as Error).message}`, { cause: error })
  }
}

/** Skips empty lines; throws at a line that is not an event. */
async function* fileLines(stream: Readable, file: string): AsyncGenerator<string> {
  let number = 0
  try {
    for await (const line of splitLines(stream)) {
      number++
      if (line.trim() !== '') yield checkedLine(line)
    }
  } catch (error) {
    const place = number === 0 ? '' : ` line ${number}`
    throw new Error(`failed to read trace file ${file}${place}: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function* splitLines(stream: Readable): AsyncGenerator<string> {
  let parts: Buffer[] = []
  let length = 0
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = bytes.indexOf(LF); to >= 0; to = bytes.indexOf(LF, from)) {
      yield Buffer.concat([...parts, bytes.subarray(from, to)]).toString()
      parts = []
      length = 0
      from = to + 1
    }
    length += bytes.length - from
    if (length > MAX_EVENT_BYTES) throw new Error(`a line is larger than ${MAX_EVENT_BYTES} bytes`)
    parts.push(bytes.subarray(from))
  }
  if (length > 0) yield Buffer.concat(parts).toString()
}

/** Sends the request once its trace is open, and ends the trace if the request fails or no event comes. */
export class TracedRequest {
  readonly #source: TraceSource
  readonly #request: CurlRequest | null
  #events = 0
  #failure: Error | null = null
  #sent: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  /** Without a request it only counts events. */
  constructor(source: TraceSource, request: CurlRequest | null) {
    this.#source = source
    this.#request = request
  }

  start(curlErrors: 'print' | 'capture'): void {
    if (this.#request === null) return
    this.#sent = this.#request.send(curlErrors).then(
      () => {
        if (this.#events === 0) this.#closeAfter(FIRST_EVENT_TIMEOUT)
      },
      (error: Error) => {
        this.#failure = error
        this.#closeAfter(LAST_EVENT_TIMEOUT)
      },
    )
  }

  countEvent(): void {
    if (this.#events++ === 0 && this.#failure === null) clearTimeout(this.#timer)
  }

  /** Call it after the last event; rejects if the request failed or the trace has no events. */
  async finish(): Promise<void> {
    await this.#sent
    clearTimeout(this.#timer)
    if (this.#failure !== null) throw this.#failure
    if (this.#events > 0) return
    if (this.#source.kind === 'saved') throw new Error(`${this.#source.label} holds no events`)
    if (this.#request === null) throw new Error('the trace stream ended before a request came')
    throw new Error(
      'the request was answered, but no trace of it came: it may not match --expression, ' +
        `or port ${this.#request.port} may belong to another gateway`,
    )
  }

  #closeAfter(ms: number): void {
    this.#timer = setTimeout(() => this.#source.close(), ms)
  }
}
