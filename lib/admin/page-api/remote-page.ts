// The page's server where several processes serve the page: the one that knows of all of them is asked, over a private
// socket, for whoever asks here.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { WholeEventBuffer } from '../../text/sse-reader.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { createErrorResponse } from './page-request.ts'
import type { UiResponse, UiRequest } from './page-request.ts'

/** For the head of an answer, and for all of one that is no stream. */
const ANSWER_MS = 5_000

/** Of an answer that is no stream: the map is bounded below that. */
const MAX_ANSWER_BYTES = 33_554_432

/** A stream that nobody has begun to read by then is given up. */
const UNREAD_MS = 5_000

/** What is between the two processes only. */
const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
])

export class RemoteUi {
  readonly #socket: string
  readonly #readers = new Set<EventWriter>()

  constructor(socket: string) {
    this.#socket = socket
  }

  /** Never rejects: one who is not there is told of. */
  async answer(ask: UiRequest): Promise<UiResponse> {
    try {
      const response = await this.#open(ask)
      const isStream = response.headers['content-type'] === 'text/event-stream'
      if (isStream && ask.method !== 'HEAD') return this.#events(response)
      if (isStream) response.destroy()
      const content = isStream ? '' : await readWholeResponse(response)
      const status = response.statusCode ?? 502
      return { kind: 'whole', status, fields: forwardedHeadersOf(response), content }
    } catch {
      return createErrorResponse(502, 'the process that knows of all workers does not answer')
    }
  }

  /** Ends what is read here, as `UiService.endListeners` does. */
  endListenerStreams(): void {
    for (const reader of this.#readers)
      if (reader.isFull) reader.destroy()
      else reader.end()
  }

  #open({ method, path, query, ifNoneMatch, acceptEncoding }: UiRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const asking = request({
        socketPath: this.#socket,
        // The length of an answer is told without it, too.
        method: method === 'HEAD' ? 'GET' : method,
        path: `${path}?${query.toString()}`,
        agent: false,
        headers: {
          ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
          ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
        },
      })
      const late = setTimeout(() => asking.destroy(new Error('no answer in time')), ANSWER_MS)
      asking.on('error', reject)
      asking.once('close', () => clearTimeout(late))
      asking.once('response', (response) => {
        clearTimeout(late)
        resolve(response)
      })
      asking.end()
    })
  }

  #events(response: IncomingMessage): UiResponse {
    const unread = setTimeout(() => response.destroy(), UNREAD_MS)
    response.on('error', () => {})
    return {
      kind: 'events',
      open: (out) => {
        clearTimeout(unread)
        this.#readers.add(out)
        pipeEvents(response, out)
        return () => {
          this.#readers.delete(out)
          response.destroy()
        }
      },
    }
  }
}

function pipeEvents(response: IncomingMessage, out: EventWriter): void {
  const cutter = new WholeEventBuffer()
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const whole = cutter.push(text)
    if (whole === null) {
      response.destroy()
      return
    }
    if (whole !== '') out.write(whole)
    if (out.isFull) response.pause()
  })
  out.onDrain(() => response.resume())
  response.once('end', () => out.end())
  // Not the whole: it must not look like it.
  response.once('close', () => {
    if (!response.complete) out.destroy()
  })
}

async function readWholeResponse(response: IncomingMessage): Promise<Buffer> {
  const late = setTimeout(() => response.destroy(new Error('it broke off')), ANSWER_MS)
  try {
    const parts: Buffer[] = []
    let length = 0
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length
      if (length > MAX_ANSWER_BYTES) throw new Error('the answer is too long')
      parts.push(part)
    }
    return Buffer.concat(parts)
  } finally {
    clearTimeout(late)
  }
}

function forwardedHeadersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    HOP_HEADERS.has(name) || value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
}
