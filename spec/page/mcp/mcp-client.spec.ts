// The playground's MCP client against servers with odd responses: what it reads, what it sends, and how it opens a new session.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { McpClient } from '../../../lib/page/mcp/mcp-client.ts'
import type { ClientOptions, HttpMessage, SendHttp } from '../../../lib/page/mcp/mcp-client.ts'
import { HttpError, RpcError } from '../../../lib/page/mcp/mcp-errors.ts'
import { deadline } from '../../support/deadline.ts'

const WAIT_MS = 30_000
const GREETING = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: { name: 'x', version: '1' },
}

interface Posted {
  readonly id?: number
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly error?: unknown
}

interface Sent extends HttpMessage {
  readonly http: string
  readonly message: Posted
}

type Script = (sent: Sent) => Response | Promise<Response> | undefined

/** A server: `script` may respond; otherwise the usual response is sent. */
class Server {
  readonly sent: Sent[] = []
  session = 's1'
  readonly #script: Script

  constructor(script: Script = () => undefined) {
    this.#script = script
  }

  readonly send: SendHttp = async (http, request) => {
    const message = JSON.parse(request.body ?? '{}') as Posted
    const sent = { http, message, ...request }
    this.sent.push(sent)
    const scripted = this.#script(sent)
    if (scripted !== undefined) return scripted
    if (http !== 'POST') return new Response(null, { status: http === 'GET' ? 405 : 202 })
    if (message.id === undefined) return new Response(null, { status: 202 })
    if (message.method === 'initialize')
      return json({ id: message.id, result: GREETING }, { 'mcp-session-id': this.session })
    return json({ id: message.id, result: { of: message.method } })
  }

  methods(): (string | undefined)[] {
    return this.sent.map(({ http, message }) => message.method ?? http)
  }
}

function json(message: object, headers: Record<string, string> = {}, status = 200): Response {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } })
}

function events(...chunks: (string | Uint8Array)[]): Response {
  const bytes = chunks.map((one) => (typeof one === 'string' ? new TextEncoder().encode(one) : one))
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of bytes) controller.enqueue(chunk)
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

function eventOf(message: object): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

const open = new Set<McpClient>()

async function connected(server: Server, options: Partial<ClientOptions> = {}): Promise<McpClient> {
  const client = new McpClient({
    send: server.send,
    token: '',
    onNotification: () => {},
    onRestart: () => {},
    ...options,
  })
  open.add(client)
  await deadline(client.connect(), WAIT_MS, 'a session')
  return client
}

async function fault(work: Promise<unknown>): Promise<unknown> {
  return deadline(
    work.then(
      () => 'none',
      (error: unknown) => error,
    ),
    WAIT_MS,
    'a fault',
  )
}

const client = suite('page/mcp-client')
client.after.each(() => {
  for (const one of open) one.close()
  open.clear()
})

client(
  'initializes, opens the notification stream, and sends session and token with every request',
  async () => {
    const server = new Server()
    const one = await connected(server, { token: 'secret' })
    await deadline(one.request('ping'), WAIT_MS, 'a ping')
    assert.equal(server.methods(), ['initialize', 'notifications/initialized', 'GET', 'ping'])
    const [first, , ear, last] = server.sent
    assert.is(first?.headers['mcp-session-id'], undefined)
    assert.is(first?.headers['authorization'], 'Bearer secret')
    assert.is(ear?.headers['accept'], 'text/event-stream')
    assert.is(last?.headers['mcp-session-id'], 's1')
    assert.is(last?.headers['mcp-protocol-version'], '2025-06-18')
    assert.is(last?.headers['accept'], 'application/json, text/event-stream')
    assert.is(one.headers['authorization'], undefined)
  },
)

client('the token of a trace marks the POST of that call only', async () => {
  const server = new Server()
  const one = await connected(server)
  await deadline(one.request('ping', {}, { traceToken: 't' }), WAIT_MS, 'a ping')
  await deadline(one.request('ping'), WAIT_MS, 'another ping')
  const marks = server.sent.map(({ headers }) => headers['x-gateway-trace'])
  assert.equal(marks, [undefined, undefined, undefined, 't', undefined])
})

client('a credential with a scheme is sent unchanged', async () => {
  const server = new Server()
  await connected(server, { token: 'Basic YTpi' })
  assert.is(server.sent[0]?.headers['authorization'], 'Basic YTpi')
})

client(
  'finds its response in a stream, wherever that is split, and receives notifications before it',
  async () => {
    const heard: string[] = []
    const server = new Server(({ message: { method, id } }) => {
      if (method !== 'tools/call') return undefined
      const text =
        ': hello\n\n' +
        eventOf({ method: 'notifications/message', params: { data: 'grüß dich' } }) +
        eventOf({
          method: 'notifications/progress',
          params: { progressToken: id, progress: 1, total: 2 },
        }) +
        eventOf({
          method: 'notifications/progress',
          params: { progressToken: 'other', progress: 9 },
        }) +
        eventOf({ id: 999, result: {} }) +
        'data: no json\n\n' +
        eventOf({ id, result: { content: 'ä' } }) +
        eventOf({ method: 'notifications/late' })
      return events(...[...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte)))
    })
    const one = await connected(server, {
      onNotification: (method, params) => heard.push(`${method} ${JSON.stringify(params)}`),
    })
    const told: unknown[] = []
    const asked = one.request(
      'tools/call',
      { name: 'x' },
      { onProgress: (step) => told.push(step) },
    )
    assert.equal(await deadline(asked, WAIT_MS, 'an answer'), { content: 'ä' })
    assert.equal(told, [{ progress: 1, total: 2, message: '' }])
    assert.equal(heard, ['notifications/message {"data":"grüß dich"}'])
  },
)

client('errors of the server have a code; refusals by HTTP have a status', async () => {
  const answers: Record<string, Response> = {
    refused: json({ id: null, error: { code: -32000, message: 'not so' } }, {}, 400),
    policy: new Response('authorization failed\n', { status: 403 }),
    token: new Response('{"error":"invalid_token","error_description":"expired"}', { status: 401 }),
    relay: new Response('{"error":"the listener does not answer"}', { status: 502 }),
    cut: events(': nothing\n\n'),
  }
  const server = new Server(({ message: { method = '', id } }) =>
    method === 'rpc'
      ? json({ id, error: { code: -32602, message: 'no', data: { a: 1 } } })
      : answers[method],
  )
  const one = await connected(server)
  const rpc = (await fault(one.request('rpc'))) as RpcError
  assert.instance(rpc, RpcError)
  assert.equal([rpc.code, rpc.message, rpc.data], [-32602, 'no', { a: 1 }])
  assert.is(((await fault(one.request('refused'))) as RpcError).code, -32000)
  const said = async (method: string): Promise<unknown[]> => {
    const found = (await fault(one.request(method))) as HttpError
    assert.instance(found, HttpError)
    return [found.status, found.message]
  }
  assert.equal(await said('policy'), [403, 'authorization failed'])
  assert.equal(await said('token'), [401, 'invalid_token: expired'])
  assert.equal(await said('relay'), [502, 'the listener does not answer'])
  assert.equal(await said('cut'), [200, 'the stream ended before the response'])
})

client('opens a new session, once, when the server does not know the old one', async () => {
  let restarts = 0
  const server = new Server(({ headers, message: { method } }) => {
    const isOld = headers['mcp-session-id'] !== server.session
    const isGone = isOld && method !== 'initialize'
    return isGone ? new Response('session not found', { status: 404 }) : undefined
  })
  const one = await connected(server, { onRestart: () => restarts++ })
  server.session = 's2'
  assert.equal(await deadline(one.request('ping'), WAIT_MS, 'a ping'), { of: 'ping' })
  assert.is(restarts, 1)
  assert.is(one.session, 's2')
  const ears = server.sent.filter(({ http }) => http === 'GET')
  assert.equal(
    ears.map(({ headers }) => headers['mcp-session-id']),
    ['s1', 's2'],
  )
  const never = new Server(({ http, message: { method } }) =>
    http === 'POST' && method === 'ping' ? new Response('', { status: 404 }) : undefined,
  )
  const other = await connected(never)
  const found = (await fault(other.request('ping'))) as HttpError
  assert.is(found.status, 404)
  assert.is(never.methods().filter((method) => method === 'ping').length, 2)
})

client('a cancelled call is cancelled at the server, and its request ends', async () => {
  let leave = (): void => {}
  const left = new Promise<void>((resolve) => (leave = resolve))
  const server = new Server(({ message: { method }, signal }) => {
    if (method !== 'tools/call') return undefined
    return new Promise<Response>((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        leave()
        reject(new Error('aborted'))
      })
    })
  })
  const one = await connected(server)
  const controller = new AbortController()
  const asked = one.request('tools/call', {}, { signal: controller.signal })
  controller.abort()
  assert.is(((await fault(asked)) as Error).message, 'cancelled')
  await deadline(left, WAIT_MS, 'the request to be left')
  const id = server.sent.find(({ message }) => message.method === 'tools/call')?.message.id
  const told = server.sent.find(({ message }) => message.method === 'notifications/cancelled')
  assert.is(told?.message.params?.['requestId'], id)
})

client('responds to a ping, and refuses other requests of the server', async () => {
  const heard: string[] = []
  const server = new Server(({ message: { method, id } }) =>
    method === 'go'
      ? events(
          eventOf({ id: 'p', method: 'ping' }),
          eventOf({ id: 'e', method: 'elicitation/create', params: {} }),
          eventOf({ id, result: {} }),
        )
      : undefined,
  )
  const one = await connected(server, { onNotification: (method) => heard.push(method) })
  await deadline(one.request('go'), WAIT_MS, 'an answer')
  const replies = server.sent
    .filter(({ http, message }) => http === 'POST' && message.method === undefined)
    .map(({ body }) => JSON.parse(body ?? '') as Posted & { result?: unknown })
  assert.equal(
    replies.map(({ id, result, error }) => [id, result, (error as { code?: number })?.code]),
    [
      ['p', {}, undefined],
      ['e', undefined, -32601],
    ],
  )
  assert.equal(heard, ['elicitation/create'])
})

client('ends its session once, and sends nothing without a session', async () => {
  const server = new Server()
  const one = await connected(server)
  one.close()
  one.close()
  assert.is(server.methods().filter((method) => method === 'DELETE').length, 1)
  assert.is(server.sent.at(-1)?.headers['mcp-session-id'], 's1')
  const none = new Server()
  none.session = ''
  const other = await connected(none)
  other.close()
  assert.not.ok(none.methods().includes('DELETE'))
})

client('a response without end is an error', async () => {
  const part = new Uint8Array(1_048_576).fill(97)
  const endless = (type: string): Response =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(part) }), {
      headers: { 'content-type': type },
    })
  const server = new Server(({ message: { method = '' } }) =>
    method.includes('/') && !method.startsWith('notifications') ? endless(method) : undefined,
  )
  const one = await connected(server)
  assert.instance(await fault(one.request('application/json')), RangeError)
  assert.instance(await fault(one.request('text/event-stream')), RangeError)
})

client.run()
