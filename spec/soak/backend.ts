// The backend of a soak: echoes, streams, accepts uploads, answers chats, and cuts responses on request.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export const EVENTS = 10
const EVENT_PAUSE_MS = 20

/** The tokens of every complete chat. */
export const CHAT_TOKENS = 15

const CHAT = JSON.stringify({
  id: 'chatcmpl-soak',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'soak',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: CHAT_TOKENS },
})

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

/** Handlers by the first segment of the path. */
const ANSWERS: Record<string, Answer> = {
  echo: (request, response) => void request.pipe(response),
  limited: (request, response) => void request.pipe(response),
  stream: async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < EVENTS && !response.destroyed; at++) {
      response.write(`id: ${at}\ndata: {"at":${at}}\n\n`)
      await sleep(EVENT_PAUSE_MS)
    }
    response.end()
  },
  upload: async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.end(JSON.stringify({ bytes }))
  },
  /** Sends half of the declared bytes, then disconnects. */
  cut: (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-length': 1000 })
    response.write('x'.repeat(500), () => response.destroy())
  },
  v1: async (request, response) => {
    request.resume()
    await once(request, 'end')
    response.setHeader('content-type', 'application/json')
    response.end(CHAT)
  },
}

export class SoakBackend {
  readonly #server: Server = createServer(
    (request, response) => void this.#answer(request, response),
  )

  async listen(): Promise<number> {
    this.#server.keepAliveTimeout = 60_000
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kind = request.url?.split('/')[1] ?? ''
    // When a client disconnects, the gateway cancels its call.
    response.on('error', () => {})
    try {
      await ANSWERS[kind]?.(request, response)
    } catch {
      response.destroy()
    }
  }
}
