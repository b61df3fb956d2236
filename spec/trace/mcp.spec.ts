// MCP in a trace: the targets of messages, authorization, and calls to remote targets in a scope each.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { begin, McpClient, mcpText, server } from '../forward/mcp/mcp-client.ts'
import { SdkServer } from '../forward/mcp/remote/sdk-server.ts'
import { Stage } from '../support/gateway.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of MCP backends')
const stage = new Stage()
trace.after.each(() => stage.clear())

function eventsAfterSelection(watched: TraceWatcher): string[] {
  const list = watched.list()
  return list.slice(list.indexOf('policySelection backend') + 1)
}

const END = ['responseSnapshot final response', 'bodySnapshot response', 'requestFinished']

trace('shows the targets of an initialize request and of a notification', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [server('one'), server('two')] }))
  const watchers = [TraceWatcher.at(gateway), TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  const client = await McpClient.open(stage, gateway)
  await (await client.ask('tools/list')).whole()
  const targets = []
  for (const watched of watchers) {
    const events = await watched.all()
    const messages = events.filter(({ message }) => message.type === 'mcpMessage')
    targets.push(messages.map(({ message }) => [message['method'], message['target']]))
  }
  assert.equal(targets, [
    [
      ['initialize', 'one'],
      ['initialize', 'two'],
    ],
    [
      ['notifications/initialized', 'one'],
      ['notifications/initialized', 'two'],
    ],
    [
      ['tools/list', 'one'],
      ['tools/list', 'two'],
    ],
  ])
})

trace('shows a denied tool and the rule', async () => {
  const policies = `mcpAuthorization: { rules: ['mcp.tool.name == "pid"'] }`
  const [gateway, client] = await begin(stage, { policies })
  const watched = TraceWatcher.at(gateway)
  const answer = await (await client.call('echo', { text: 'hi' })).whole()
  assert.is(answer.status, 400)
  await watched.all()
  assert.equal(eventsAfterSelection(watched), ['authorizationResult', ...END])
  assert.equal(watched.messageOf('authorizationResult')['rules'], [
    { name: 'mcp.tool.name == "pid"', mode: 'allow', matched: false },
  ])
})

trace('shows the call of a remote target in its scope', async () => {
  const sdk = await SdkServer.start(stage)
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "http://127.0.0.1:${sdk.port}/mcp" } }`] }),
  )
  const client = await McpClient.open(stage, gateway)
  const watched = TraceWatcher.at(gateway)
  await (await client.ask('ping')).whole()
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'mcpMessage',
    'far: requestSnapshot final request',
    'far: backendCallStart',
    'far: bodySnapshot final request',
    'far: backendCallResult',
    'far: responseSnapshot raw response',
    'far: responseSnapshot backend response ready',
    ...END,
  ])
  assert.is(watched.messageOf('far: backendCallStart')['target'], `127.0.0.1:${sdk.port}`)
  const sent = watched.state('far: requestSnapshot final request', 'request')
  assert.is(sent['path'], '/mcp')
  assert.is(sent['method'], 'POST')
  const { body } = watched.messageOf('far: bodySnapshot final request')
  assert.match(Buffer.from(String(body), 'base64').toString(), '"method":"ping"')
})

trace('shows the stream and the requests of the older transport', async () => {
  const sdk = await SdkServer.start(stage)
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: old, sse: { host: "http://127.0.0.1:${sdk.port}/sse" } }`] }),
  )
  const watched = TraceWatcher.at(gateway)
  await McpClient.open(stage, gateway)
  await watched.all()
  const calls = watched.events.flatMap(({ scope, message }) => {
    if (scope?.[0] !== 'old' || message['stage'] !== 'final request') return []
    const { request } = (message['requestState'] ?? {}) as Record<string, Record<string, unknown>>
    return request === undefined ? [] : [[request['method'], request['path']]]
  })
  assert.equal(calls, [
    ['GET', '/sse'],
    ['POST', '/message'],
  ])
  const { body } = watched.messageOf('old: bodySnapshot final request')
  assert.match(Buffer.from(String(body), 'base64').toString(), '"method":"initialize"')
})

trace('shows a notification to a remote target as a call that is not awaited', async () => {
  const sdk = await SdkServer.start(stage)
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "http://127.0.0.1:${sdk.port}/mcp" } }`] }),
  )
  const client = await McpClient.open(stage, gateway)
  const watched = TraceWatcher.at(gateway)
  await client.notify('notifications/roots/list_changed')
  const events = await watched.all()
  const { body } = watched.messageOf('far: bodySnapshot final request')
  assert.match(Buffer.from(String(body), 'base64').toString(), 'roots/list_changed')
  const result = events.find(({ message }) => message.type === 'backendCallResult')
  assert.is(result?.severity, 'info')
})

trace('shows a cancelled call to a remote target', async () => {
  const initialized = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'
  const welcome = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}'
  const json = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${welcome.length}\r\n\r\n`
  const backend = await stage.backend(
    [
      { wait: /"initialize"/ },
      { send: json + welcome },
      { wait: /"notifications\/initialized"/ },
      { send: initialized },
      { wait: /"ping"/ },
      { hold: true },
    ],
    [{ wait: /"notifications\/cancelled"/ }, { send: initialized }],
  )
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "http://127.0.0.1:${backend.port}/mcp" } }`] }),
  )
  const client = await McpClient.open(stage, gateway)
  const watched = TraceWatcher.at(gateway)
  await client.ask('ping')
  await backend.until((text) => text.includes('"ping"'))
  await client.notify('notifications/cancelled', { requestId: 1, reason: 'enough' })
  await watched.all()
  assert.equal(watched.messageOf('far: backendCallResult'), {
    type: 'backendCallResult',
    status: null,
    error: 'enough',
  })
})

trace('shows a remote target that cannot be reached', async () => {
  const gateway = await stage.gateway(
    mcpText({ targets: ['{ name: far, mcp: { host: "http://127.0.0.1:1/mcp" } }'] }),
  )
  const watched = TraceWatcher.at(gateway)
  const client = new McpClient(stage, gateway)
  await (await client.initialize()).whole()
  await watched.all()
  const { status, error } = watched.messageOf('far: backendCallResult')
  assert.is(status, null)
  assert.match(String(error), /^upstream call failed: /)
  assert.is(watched.list().at(-1), 'requestFinished')
})

trace('shows why a page is refused', async () => {
  const gateway = await stage.gateway(mcpText())
  const watched = TraceWatcher.at(gateway)
  const fields = 'origin: http://evil.example\r\n'
  const answer = await new McpClient(stage, gateway, { fields }).initialize()
  assert.is((await answer.whole()).status, 403)
  await watched.all()
  assert.equal(eventsAfterSelection(watched), ['policy dnsRebindingProtection', ...END])
  const event = watched.events.find(({ message }) => message.type === 'policy')!
  assert.is(event.severity, 'error')
  assert.equal(event.message['result'], {
    type: 'apply',
    details:
      "answered 403: Origin 'http://evil.example' is not allowed: add it to cors, or see dnsRebindingProtection",
    snapshot: null,
  })
})

trace.run()
