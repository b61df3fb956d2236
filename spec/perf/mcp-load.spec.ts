import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openHttp } from '../../perf/mcp-http.ts'
import { callsInFlight } from '../../perf/mcp-load.ts'
import { answerText } from '../../perf/mcp-messages.ts'
import { SERVER_COMMAND } from '../../perf/mcp-peers.ts'
import type { SessionEvents } from '../../perf/mcp-session.ts'
import { openStdio } from '../../perf/mcp-stdio.ts'
import { deadline } from '../support/deadline.ts'

const load = suite('perf MCP load')

const TIMING = { warmSeconds: 0.02, seconds: 0.1, edge: () => {} }
const stdio = async (_inFlight: number, events: SessionEvents) => openStdio(SERVER_COMMAND, events)

load('calls the echo server over stdio and checks each answer', async () => {
  const window = await deadline(callsInFlight(stdio, 4, TIMING), 30_000, 'the calls')
  assert.ok(window.answers > 0)
  assert.is(window.latencies.length, window.answers)
  assert.not.ok(window.latencies.some(Number.isNaN))
})

load('tells how long a new session took', async () => {
  const events = { answered: () => {}, failed: () => {} }
  const session = await deadline(stdio(1, events), 30_000, 'a session')
  assert.ok(session.greeting > 0)
  await deadline(session.end(), 30_000, 'its end')
})

load('fails when the server cannot be started', async () => {
  const none = async (_inFlight: number, events: SessionEvents) =>
    openStdio(['/nonexistent/server'], events)
  try {
    await deadline(callsInFlight(none, 1, TIMING), 30_000, 'a failure')
    assert.unreachable()
  } catch (error) {
    assert.match(String(error), /ENOENT/)
  }
})

/** A peer that answers as told: the session is granted, and each call gets what `answer` says. */
async function peer(answer: (id: string) => string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      const id = /"id":(\d+)/.exec(text)?.[1] ?? ''
      if (text.includes('"initialize"')) socket.write(reply('200 OK', '{"id":0}'))
      else if (text.includes('"tools/call"')) socket.write(reply('200 OK', answer(id)))
      else socket.write(reply(text.startsWith('DELETE') ? '200 OK' : '202 Accepted', ''))
    })
  }).listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a port')
  return server
}

function reply(status: string, body: string): string {
  return (
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`
  )
}

async function loaded(server: Server): Promise<string> {
  const { port } = server.address() as AddressInfo
  const open = async (inFlight: number, events: SessionEvents) => openHttp(port, inFlight, events)
  try {
    const window = await deadline(callsInFlight(open, 3, TIMING), 30_000, 'the calls')
    return window.answers > 0 ? 'answered' : 'silent'
  } catch (error) {
    return String(error)
  } finally {
    server.close()
    await deadline(once(server, 'close'), 30_000, 'the end of the peer')
  }
}

load('calls over HTTP with a connection for each call in flight', async () => {
  const server = await peer((id) => answerText(id, Number(id)))
  let connections = 0
  server.on('connection', () => connections++)
  assert.is(await loaded(server), 'answered')
  assert.is(connections, 3)
})

load('fails when a peer mixes up the answers', async () => {
  const server = await peer((id) => answerText(String(Number(id) + 1), Number(id) + 1))
  assert.match(await loaded(server), /call \d+ got the answer to \d+/)
})

load.run()
