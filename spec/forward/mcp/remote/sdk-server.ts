// SDK servers in this process for specs of links: Streamable HTTP at /mcp, the legacy transport at /sse.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { StreamableHTTPServerTransportOptions } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { deadline } from '../../../support/deadline.ts'
import type { Stage } from '../../../support/gateway.ts'

export class SdkServer {
  /** The transport of the newest session. */
  server: Server | null = null
  readonly sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>()
  readonly sockets = new Set<Socket>()
  /** Responses to GET. */
  readonly streams: ServerResponse[] = []
  readonly #http = createServer((request, response) => void this.#serve(request, response))
  readonly #options: StreamableHTTPServerTransportOptions

  private constructor(options: StreamableHTTPServerTransportOptions) {
    this.#options = options
    this.#http.on('connection', (socket) => {
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
    })
  }

  static async start(
    stage: Stage,
    options: StreamableHTTPServerTransportOptions = {},
  ): Promise<SdkServer> {
    const sdk = stage.add(new SdkServer(options))
    sdk.#http.listen(0, '127.0.0.1')
    await deadline(once(sdk.#http, 'listening'), 30_000, 'a server to listen')
    return sdk
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const transport of this.sessions.values()) await transport.close()
    this.#http.closeAllConnections()
    this.#http.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') this.streams.push(response)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname === '/sse') return this.#openLegacy(response)
    const id = request.headers['mcp-session-id'] ?? searchParams.get('sessionId') ?? ''
    const session = this.sessions.get(String(id))
    if (session instanceof SSEServerTransport) return session.handlePostMessage(request, response)
    if (session !== undefined) return session.handleRequest(request, response)
    if (id !== '') return void response.writeHead(404).end()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (named) => void this.sessions.set(named, transport),
      onsessionclosed: (named) => void this.sessions.delete(named),
      ...this.#options,
    })
    await this.#join(transport as Transport)
    await transport.handleRequest(request, response)
  }

  async #openLegacy(response: ServerResponse): Promise<void> {
    const transport = new SSEServerTransport('/message', response)
    this.sessions.set(transport.sessionId, transport)
    response.once('close', () => this.sessions.delete(transport.sessionId))
    await this.#join(transport)
  }

  async #join(transport: Transport): Promise<void> {
    const server = new Server(
      { name: 'sdk', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    )
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const { name } = params
      const progress = { progressToken: 't', progress: 1 }
      await extra.sendNotification({ method: 'notifications/progress', params: progress })
      if (name === 'ask') await extra.sendRequest({ method: 'ping' }, EmptyResultSchema)
      if (name === 'hang up') extra.closeSSEStream?.()
      return { content: [{ type: 'text', text: name }] }
    })
    this.server = server
    await server.connect(transport)
  }
}

/** Keeps every event, so that streams can be resumed. */
export class Events {
  readonly #all: { id: string; stream: string; message: JSONRPCMessage }[] = []

  storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}/${this.#all.length}`
    this.#all.push({ id, stream, message })
    return Promise.resolve(id)
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#all.findIndex(({ id }) => id === last)
    const [stream = ''] = last.split('/')
    for (const event of this.#all.slice(at + 1))
      if (event.stream === stream && Object.keys(event.message).length > 0)
        await send(event.id, event.message)
    return stream
  }
}
