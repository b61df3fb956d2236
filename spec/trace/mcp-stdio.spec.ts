// Messages to child processes in a trace: each is a call in the scope of its target, however it ends.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_REASON_LENGTH } from '../../lib/text/redaction.ts'
import {
  begin,
  beginOpenly,
  McpClient,
  mcpText,
  puppet,
  server,
  sessionsOf,
} from '../forward/mcp/mcp-client.ts'
import type { Json } from '../forward/mcp/mcp-client.ts'
import { until } from '../forward/mcp/stdio/owner.ts'
import { Stage } from '../support/gateway.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of MCP child processes')
const stage = new Stage()
trace.after.each(() => stage.clear())

const END = ['responseSnapshot final response', 'bodySnapshot response', 'requestFinished']

function callOf(target: string): string[] {
  const parts = [
    'requestSnapshot final request',
    'backendCallStart',
    'bodySnapshot final request',
    'backendCallResult',
    'responseSnapshot raw response',
    'responseSnapshot backend response ready',
  ]
  return parts.map((part) => `${target}: ${part}`)
}

function eventsAfterSelection(watched: TraceWatcher): string[] {
  const list = watched.list()
  return list.slice(list.indexOf('policySelection backend') + 1)
}

/** The messages written to this target, and how each call ended: with its status or its error. */
function callsTo(watched: TraceWatcher, target: string): [method: unknown, end: unknown][] {
  const own = watched.events.filter(({ scope }) => scope?.[0] === target)
  const of = (type: string): Json[] =>
    own.flatMap(({ message }) => (message.type === type ? [message] : []))
  const sent = of('bodySnapshot').map(bodyIn)
  const ends = of('backendCallResult').map(({ status, error }) => error ?? status)
  assert.is(of('backendCallStart').length, sent.length)
  return sent.map(({ method, result }, at) => [method ?? result, ends[at]])
}

function bodyIn({ body }: Json): Json {
  return JSON.parse(Buffer.from(String(body), 'base64').toString()) as Json
}

trace('a call shows the message that the child got, and its result', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const watched = TraceWatcher.at(gateway)
  const answer = await (await client.call('line')).only()
  await watched.all()
  assert.equal(eventsAfterSelection(watched), ['mcpMessage', ...callOf('one'), ...END])
  assert.equal(watched.messageOf('mcpMessage'), {
    type: 'mcpMessage',
    method: 'tools/call',
    target: 'one',
    session: client.session.slice(0, 8),
  })
  const { backend, mcp } = watched.messageOf('one: requestSnapshot final request')[
    'requestState'
  ] as Record<string, Json>
  assert.equal([backend?.['type'], backend?.['protocol']], ['mcp', 'mcp'])
  assert.is(mcp?.['methodName'], 'tools/call')
  assert.is(watched.messageOf('one: backendCallStart')['target'], 'stdio:one')
  for (const stage of ['raw response', 'backend response ready']) {
    const { requestState } = watched.messageOf(`one: responseSnapshot ${stage}`)
    const { response, proxy } = requestState as Record<string, Json>
    assert.equal(response, { code: 200, headers: {} })
    assert.match(String(proxy?.['upstreamDuration']), /^\d+\.\d{6}s$/)
  }
  const { result } = answer as { result: { content: { text: string }[] } }
  const { body } = watched.messageOf('one: bodySnapshot final request')
  assert.is(Buffer.from(String(body), 'base64').toString(), result.content[0]?.text)
  const { eventStart, eventEnd, message } = watched.events.find(
    (event) => event.message.type === 'backendCallResult',
  )!
  assert.equal(message, { type: 'backendCallResult', status: 200, error: null })
  assert.ok(eventStart !== null && eventEnd >= eventStart)
  const proxy = watched.state('responseSnapshot final response', 'proxy')
  assert.match(String(proxy['upstreamDuration']), /^\d+\.\d{6}s$/)
})

trace('an error of the child is a response', async () => {
  const [gateway, client] = await begin(stage)
  const watched = TraceWatcher.at(gateway)
  await (await client.call('nobody')).whole()
  await watched.all()
  assert.equal(callsTo(watched, 'one'), [['tools/call', 200]])
})

trace('several targets are called in a scope each', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [server('one'), puppet('two')] }))
  const watchers = [TraceWatcher.at(gateway), TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  const client = await McpClient.open(stage, gateway)
  await (await client.ask('tools/list')).whole()
  for (const watched of watchers) await watched.all()
  const seen = watchers.map((watched) => [callsTo(watched, 'one'), callsTo(watched, 'two')])
  assert.equal(seen, [
    [[['initialize', 200]], [['initialize', 200]]],
    [[['notifications/initialized', 202]], [['notifications/initialized', 202]]],
    [[['tools/list', 200]], [['tools/list', 200]]],
  ])
})

trace('a response of the client goes to the target that sent the request', async () => {
  const [gateway, client] = await begin(stage, {}, { capabilities: { roots: {} } })
  const call = await client.call('ask', { method: 'roots/list' })
  const [serverRequest] = await call.first(1)
  const watched = TraceWatcher.at(gateway)
  const response = { jsonrpc: '2.0', id: serverRequest!['id'], result: { roots: [] } }
  await (await client.post(JSON.stringify(response))).whole()
  await call.whole()
  await watched.all()
  assert.is(watched.messageOf('mcpMessage')['method'], 'response')
  assert.equal(callsTo(watched, 'one'), [[{ roots: [] }, 202]])
})

trace('shows a cancelled call and the cancellation message', async () => {
  const [gateway, client] = await begin(stage)
  const [call, cancellation] = [TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  const answer = await client.call('slow')
  await answer.first(1)
  await client.notify('notifications/cancelled', { requestId: 1, reason: 'enough' })
  await Promise.all([call.all(), cancellation.all()])
  assert.equal(callsTo(call, 'one'), [['tools/call', 'enough']])
  assert.equal(callsTo(cancellation, 'one'), [['notifications/cancelled', 202]])
})

trace('shows the reason of a cancellation truncated and redacted', async () => {
  const [gateway, client] = await begin(stage)
  const [call, cancellation] = [TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  const answer = await client.call('slow')
  await answer.first(1)
  const reason = `authorization: Bearer s3cret ${'x'.repeat(100_000)}`
  await client.notify('notifications/cancelled', { requestId: 1, reason })
  await Promise.all([call.all(), cancellation.all()])
  const [[, shownReason] = []] = callsTo(call, 'one')
  assert.match(String(shownReason), /^authorization: <redacted> x+…$/)
  assert.is(String(shownReason).length, MAX_REASON_LENGTH)
})

trace('shows the call of a client that disconnects', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const watched = TraceWatcher.at(gateway)
  const answer = await client.call('say')
  await client.textOf('line')
  answer.raw.destroy()
  await watched.all()
  assert.equal(callsTo(watched, 'one'), [
    ['tools/call', 'the client closed the stream'],
    ['notifications/cancelled', 202],
  ])
  assert.is(watched.messageOf('requestFinished')['error'], 'client_closed')
})

trace('shows a request that exceeds the timeout of its route', async () => {
  const policies = 'timeout: { requestTimeout: 2s }'
  const [gateway, client] = await begin(stage, { targets: [puppet('one')], policies })
  const watched = TraceWatcher.at(gateway)
  assert.is((await (await client.call('say')).whole()).status, 504)
  await watched.all()
  assert.equal(callsTo(watched, 'one')[0], ['tools/call', 'request timeout'])
})

trace('shows a child that exits, and the next one', async () => {
  const [gateway, client] = await begin(stage)
  const [died, next] = [TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  await (await client.call('crash', { code: 5 })).whole()
  await (await client.call('echo')).whole()
  await Promise.all([died.all(), next.all()])
  assert.equal(callsTo(died, 'one'), [['tools/call', `target 'one' exited with code 5`]])
  const methods = callsTo(next, 'one').map(([method]) => method)
  assert.equal(methods, ['initialize', 'notifications/initialized', 'tools/call'])
  const result = died.events.find(({ message }) => message.type === 'backendCallResult')
  assert.is(result?.severity, 'info')
})

trace('shows a child that cannot be started', async () => {
  const gateway = await stage.gateway(
    mcpText({ targets: ['{ name: one, stdio: { cmd: /nowhere/at/all } }'] }),
  )
  const watched = TraceWatcher.at(gateway)
  await (await new McpClient(stage, gateway).initialize()).whole()
  await watched.all()
  const [[method, error] = []] = callsTo(watched, 'one')
  assert.is(method, 'initialize')
  assert.match(String(error), /^target 'one' could not be started: .*ENOENT/)
})

trace('shows a child that does not respond to initialize in time', async () => {
  const targets = [puppet('one', '--greeting', 'never')]
  const gateway = await stage.gateway(mcpText({ targets, limits: 'startTimeout: 100ms' }))
  const watched = TraceWatcher.at(gateway)
  await (await new McpClient(stage, gateway).initialize()).whole()
  await watched.all()
  const [[, error] = []] = callsTo(watched, 'one')
  assert.is(error, `target 'one' did not answer initialize within 100 ms (config.mcp.startTimeout)`)
})

trace('shows a target that does not list in time', async () => {
  const targets = [puppet('one', '--mute', 'tools/list'), server('two')]
  const [gateway, client] = await begin(stage, { targets, limits: 'listTimeout: 2s' })
  const watched = TraceWatcher.at(gateway)
  await (await client.ask('tools/list')).whole()
  await watched.all()
  assert.equal(callsTo(watched, 'one'), [
    ['tools/list', 'timed out'],
    ['notifications/cancelled', 202],
  ])
  assert.equal(callsTo(watched, 'two'), [['tools/list', 200]])
})

trace('shows a session that ends during a call', async () => {
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] })
  const watched = TraceWatcher.at(gateway.gateway)
  const answer = await client.call('say')
  const [session] = sessionsOf(gateway)
  await until(() => session!.calls.size === 1, 'the call')
  await client.delete()
  await answer.whole()
  await watched.all()
  const reason = 'the session has ended: deleted by the client'
  assert.equal(callsTo(watched, 'one'), [['tools/call', reason]])
})

trace('shows all calls of one request without sessions', async () => {
  const gateway = await stage.gateway(mcpText({ more: 'statefulMode: stateless' }))
  const watched = TraceWatcher.at(gateway)
  await (await new McpClient(stage, gateway).call('echo')).whole()
  await watched.all()
  assert.equal(callsTo(watched, 'one'), [
    ['initialize', 200],
    ['notifications/initialized', 202],
    ['tools/call', 200],
  ])
})

/** The arguments of a call as the trace shows them. */
async function shownArguments(config: string, args: Json): Promise<unknown> {
  const env = 'env: { API_TOKEN: planted-in-env, ROOT: /srv/data }'
  const target = server('one').replace('stdio: {', `stdio: { ${env},`)
  const [gateway, client] = await begin(stage, { targets: [target], config })
  const watched = TraceWatcher.at(gateway)
  await (await client.call('echo', args)).whole()
  await watched.all()
  const { params } = bodyIn(watched.messageOf('one: bodySnapshot final request'))
  return (params as Json)['arguments']
}

trace('shows exact arguments', async () => {
  const args = { text: '/srv/data', access_token: 'planted', password: { a: 'b' } }
  assert.equal(await shownArguments('', args), args)
})

trace('redacts the arguments that the configuration names', async () => {
  const config = 'trace: { redactBodies: [access_token] }'
  const args = { text: 'hi', access_token: 'planted' }
  assert.equal(await shownArguments(config, args), { text: 'hi', access_token: '<redacted>' })
})

trace('redacts a credential that the child has from its configuration', async () => {
  const args = { text: 'it is planted-in-env' }
  assert.equal(await shownArguments('', args), { text: 'it is <redacted>' })
})

trace.run()
