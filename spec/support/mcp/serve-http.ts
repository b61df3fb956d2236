// An SDK server on its own port, with Streamable HTTP at /mcp and the legacy transport at /sse, to compare the answers of
// the gateway with.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

const sessions = new Map<string, StreamableHTTPServerTransport>()
const legacy = new Map<string, SSEServerTransport>()

/** Each session gets its own server. */
export function serveHttp(port: number, serverOf: () => Server): void {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname === '/sse') return openLegacy(response, serverOf())
    const known = legacy.get(searchParams.get('sessionId') ?? '')
    if (pathname === '/message' && known !== undefined)
      return known.handlePostMessage(request, response)
    if (pathname !== '/mcp') return void response.writeHead(404).end()
    const id = request.headers['mcp-session-id']
    if (typeof id !== 'string') return open(request, response, { hosts, server: serverOf() })
    const session = sessions.get(id)
    if (session === undefined) return void response.writeHead(404).end()
    await session.handleRequest(request, response)
  }
  createServer((request, response) => void serve(request, response)).listen(port, '127.0.0.1', () =>
    process.stdout.write('listening\n'),
  )
}

async function open(
  request: IncomingMessage,
  response: ServerResponse,
  { hosts, server }: { hosts: string[]; server: Server },
): Promise<void> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
    enableDnsRebindingProtection: true,
    allowedHosts: hosts,
    allowedOrigins: hosts.map((host) => `http://${host}`),
  })
  // The SDK sets optional members to undefined, which its own interface does not allow.
  await server.connect(transport as Transport)
  await transport.handleRequest(request, response)
}

async function openLegacy(response: ServerResponse, server: Server): Promise<void> {
  const transport = new SSEServerTransport('/message', response)
  legacy.set(transport.sessionId, transport)
  response.once('close', () => legacy.delete(transport.sessionId))
  await server.connect(transport)
}
