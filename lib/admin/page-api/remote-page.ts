// The web UI in a worker: requests are forwarded to the supervisor over its private socket, because it has the facts of all
// workers.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { WholeEventBuffer } from '../../text/sse-reader.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { createErrorResponse } from './page-request.ts'
import type { UiResponse, UiRequest } from './page-request.ts'

/** Timeout for the response head, and for the body of a response that is no stream. */
const ANSWER_MS = 5_000

/** Size limit of a response that is no stream; the map is limited to less. */
const MAX_ANSWER_BYTES = 33_554_432

/** A stream that is not read within this time is closed. */
const UNREAD_MS = 5_000

/** Headers that concern only the connection to the supervisor. */
const HOP_HEADERS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
])

export class RemoteUi {
  readonly #socket: string
  readonly #streams = new Set<EventWriter>()

  constructor(socket: string) {
    this.#socket = socket
  }

  /** Never rejects: an unreachable supervisor becomes a 502. */
  async answer(uiRequest: UiRequest): Promise<UiResponse> {
    try {
      const response = await this.#open(uiRequest)
      const isStream = response.headers['content-type'] === 'text/event-stream'
      if (isStream && uiRequest.method !== 'HEAD') return this.#events(response)
      if (isStream) response.destroy()
      const content = isStream ? '' : await readWholeResponse(response)
      const status = response.statusCode ?? 502
      return { kind: 'whole', status, fields: forwardedHeadersOf(response), content }
    } catch {
      return createErrorResponse(502, 'the supervisor does not answer')
    }
  }

  /** Like `UiService.endListenerStreams`. */
  endListenerStreams(): void {
    for (const stream of this.#streams)
      if (stream.isFull) stream.destroy()
      else stream.end()
  }

  #open({ method, path, query, ifNoneMatch, acceptEncoding }: UiRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        socketPath: this.#socket,
        // A GET response has the content length that HEAD needs.
        method: method === 'HEAD' ? 'GET' : method,
        path: `${path}?${query.toString()}`,
        agent: false,
        headers: {
          ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
          ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
        },
      })
      const timer = setTimeout(() => outgoing.destroy(new Error('no answer in time')), ANSWER_MS)
      outgoing.on('error', reject)
      outgoing.once('close', () => clearTimeout(timer))
      outgoing.once('response', (response) => {
        clearTimeout(timer)
        resolve(response)
      })
      outgoing.end()
    })
  }

  #events(response: IncomingMessage): UiResponse {
    const unreadTimer = setTimeout(() => response.destroy(), UNREAD_MS)
    response.on('error', () => {})
    return {
      kind: 'events',
      open: (out) => {
        clearTimeout(unreadTimer)
        this.#streams.add(out)
        pipeEvents(response, out)
        return () => {
          this.#streams.delete(out)
          response.destroy()
        }
      },
    }
  }
}

function pipeEvents(response: IncomingMessage, out: EventWriter): void {
  const events = new WholeEventBuffer()
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    const whole = events.push(text)
    if (whole === null) {
      response.destroy()
      return
    }
    if (whole !== '') out.write(whole)
    if (out.isFull) response.pause()
  })
  out.onDrain(() => response.resume())
  response.once('end', () => out.end())
  // An incomplete stream must not look complete.
  response.once('close', () => {
    if (!response.complete) out.destroy()
  })
}

async function readWholeResponse(response: IncomingMessage): Promise<Buffer> {
  const timer = setTimeout(
    () => response.destroy(new Error('no complete answer in time')),
    ANSWER_MS,
  )
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
    clearTimeout(timer)
  }
}

function forwardedHeadersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    HOP_HEADERS.has(name) || value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
}
