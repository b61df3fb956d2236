// The mock provider without a gateway: called for one reply, or served on a port for clients that need a socket.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LlmFormat } from '../../../../lib/config/backend-types.ts'
import { BytesBody } from '../../../../lib/core/replies.ts'
import type { Body, Outcome, Reply } from '../../../../lib/core/types.ts'
import { MockProvider } from '../../../../lib/forward/llm/mock/mock-provider.ts'
import { deadline } from '../../../support/deadline.ts'
import { exchangeOf, requestOf } from '../../../support/exchange-of.ts'

const WAIT_MS = 30_000

export interface MockResponse {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly text: string
  readonly outcome: Outcome
}

type Lines = readonly string[]

export function detect(): LlmFormat {
  return 'detect'
}

/** The reply to a request; `lines` are the header lines after the first two. */
export function replyOf(
  start: string,
  body: Body,
  backend: MockProvider,
  lines: Lines = [],
): Reply {
  const exchange = exchangeOf(requestOf(`${start} HTTP/1.1`, 'host: mock', ...lines))
  let reply: Reply | null = null
  backend.call(exchange, {
    body,
    answer: (answer) => void (reply = answer),
    fail(error) {
      throw error
    },
  })
  if (reply === null) throw new Error('no answer yet')
  return reply
}

/** The complete response to a request. */
export function callMock(
  start: string,
  content: unknown,
  lines: Lines = [],
  format = detect,
): MockResponse {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const body = new BytesBody(Buffer.from(text))
  const { head, body: answer } = replyOf(start, body, new MockProvider(format), lines)
  return { status: head.status, fields: Object.fromEntries(head.entries()), ...contentOf(answer) }
}

function contentOf(body: Body): { text: string; outcome: Outcome } {
  let text = ''
  let outcome: Outcome | null = null
  body.start(
    {
      write(bytes, from, to) {
        text += bytes.toString('utf8', from, to)
        return true
      },
      end: () => void (outcome = 'complete'),
      cut: (how) => void (outcome = how),
    },
    'content',
  )
  if (outcome === null) throw new Error('the answer has not ended')
  return { text, outcome }
}

export class MockServer {
  readonly #server: Server
  readonly #backend = new MockProvider(detect)

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.unref()
  }

  static async start(): Promise<MockServer> {
    const server = new MockServer()
    const listening = new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve)
    })
    await deadline(listening, WAIT_MS, 'the mock to listen')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    await deadline(closed, WAIT_MS, 'the mock to close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const lines = Object.entries(request.headers)
      .filter(([name]) => name !== 'host')
      .map(([name, value]) => `${name}: ${String(value)}`)
    const start = `${request.method} ${request.url}`
    const body = new BytesBody(Buffer.concat(chunks))
    send(replyOf(start, body, this.#backend, lines), response)
  }
}

function send({ head, body }: Reply, response: ServerResponse): void {
  response.writeHead(head.status, Object.fromEntries(head.entries()))
  response.on('drain', () => body.resume())
  response.on('close', () => body.cancel())
  body.start(
    {
      write: (bytes, from, to) => response.write(Buffer.from(bytes.subarray(from, to))),
      end: () => void response.end(),
      cut: () => void response.destroy(),
    },
    'content',
  )
}
