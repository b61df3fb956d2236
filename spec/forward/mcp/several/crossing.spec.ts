// Messages of a session with several targets other than calls: initialize, server requests, progress, ping, log levels.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { VERSION } from '../../../../lib/core/version.ts'
import { Stage } from '../../../support/gateway.ts'
import { begin, McpClient, mcpText, puppet, server, textIn } from '../mcp-client.ts'
import type { Json } from '../mcp-client.ts'

const crossing = suite('mcp/several/crossing')
const stage = new Stage()
crossing.after.each(() => stage.clear())

crossing('the answers to initialize are merged', async () => {
  const targets = [
    server('a', '--protocol', '2025-03-26', '--instructions', 'Be brief.'),
    puppet('b', '--capabilities', '{"tools":{"listChanged":false},"tasks":{"list":{}}}'),
    server('c', '--instructions', 'Be kind.'),
  ]
  const [, client] = await begin(stage, { targets })
  const { protocolVersion, capabilities, serverInfo, instructions, ...rest } = client.welcome[
    'result'
  ] as Json
  assert.is(protocolVersion, '2025-03-26')
  assert.equal(serverInfo, { name: 'gateway', title: 'Gateway', version: VERSION })
  assert.equal(capabilities, {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
    tasks: { list: {} },
  })
  assert.match(
    instructions as string,
    /^This server is a gateway.*\n\n\[a\]\nBe brief\.\n\n\[c\]\nBe kind\.$/,
  )
  assert.equal(rest, {})
  // The header must have the negotiated version from now on.
  const ping = await client.post(
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    'mcp-protocol-version: 2025-03-26\r\n',
  )
  assert.equal((await ping.only())['result'], {})
})

const DEAD = '{ name: dead, stdio: { cmd: /nowhere/at-all } }'

crossing('a target that does not start is named, and the others are used', async () => {
  const targets = [DEAD, puppet('rude', '--greeting', 'refuse'), server('a', '--tools', 'echo')]
  const [gateway, client] = await begin(stage, { targets })
  const { _meta } = client.welcome['result'] as { _meta: Record<string, Json[]> }
  const failed = _meta['gateway/failedTargets']!
  assert.equal(
    failed.map(({ target }) => target),
    ['dead', 'rude'],
  )
  assert.match(failed[0]!['reason'] as string, 'ENOENT')
  assert.is(failed[1]!['reason'], "target 'rude' refused initialize")
  assert.is(await client.textOf('a_echo', { text: 'x' }), 'x')
  const call = await (await client.call('dead_echo')).only()
  assert.match((call['error'] as Json)['message'] as string, "target 'dead' could not be started")
  const down = gateway.lines.filter(({ message }) => message === 'target down')
  assert.ok(down.length >= 2)
})

crossing('a target that starts slowly joins later', async () => {
  const targets = [puppet('slow', '--delay', '2500'), server('a', '--tools', 'echo')]
  const [, client] = await begin(stage, { targets, limits: 'listTimeout: 1s' })
  const { _meta, capabilities } = client.welcome['result'] as Json
  const reason = "target 'slow' is still starting (config.mcp.listTimeout)"
  assert.equal(_meta, { 'gateway/failedTargets': [{ target: 'slow', reason }] })
  assert.ok('tools' in (capabilities as Json))
  const stream = await client.listen()
  const methods = (await stream.first(3)).map(({ method }) => method)
  assert.ok(methods.includes('notifications/tools/list_changed'))
  assert.equal(JSON.parse(await client.textOf('slow_lines')), [
    '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}',
  ])
})

crossing('calls to a target that is still starting wait for it', async () => {
  const targets = [puppet('slow', '--delay', '2500'), server('a', '--tools', 'echo')]
  const [, client] = await begin(stage, { targets, limits: 'listTimeout: 1500ms' })
  assert.match(await client.textOf('slow_line'), '"name":"line"')
})

crossing('with failClosed, or without any target, there is no session', async () => {
  for (const [targets, more] of [
    [[DEAD, server('a')], 'failureMode: failClosed'],
    [[DEAD, puppet('rude', '--greeting', 'refuse')], 'failureMode: failOpen'],
  ] as const) {
    const gateway = await stage.gateway(mcpText({ targets, more }))
    const answer = await (await new McpClient(stage, gateway).initialize()).whole()
    assert.is(answer.status, 500)
    assert.is(answer.header('mcp-session-id'), undefined)
    const { error } = (await answer.only()) as { error: Json }
    assert.match(error['message'] as string, "target 'dead' could not be started")
    assert.ok(gateway.lines.some(({ message }) => message === 'session ended'))
  }
})

function question(target: string, id: string, token: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"sampling/createMessage","params":{"of":"${target}","_meta":{"progressToken":${token}}}}\n`
}

async function heardBy(client: McpClient, target: string): Promise<string[]> {
  return (JSON.parse(await client.textOf(`${target}_lines`)) as string[]).slice(1)
}

crossing('server requests of two targets with the same id and token do not collide', async () => {
  const [, client] = await begin(stage, { targets: [puppet('a'), puppet('b')] })
  const asked: Json[] = []
  for (const target of ['a', 'b']) {
    const call = await client.call(`${target}_say`, { text: question(target, '1', '"t"') })
    asked.push((await call.first(1))[0]!)
  }
  const ids = asked.map(({ id }) => id as number)
  const tokens = asked.map(({ params }) => ((params as Json)['_meta'] as Json)['progressToken'])
  assert.is(new Set(ids).size, 2)
  assert.is(new Set(tokens).size, 2)
  for (const progressToken of tokens)
    await client.notify('notifications/progress', { progressToken, progress: 1 })
  for (const [n, id] of ids.entries())
    await (await client.post(`{"jsonrpc":"2.0","id":${id},"result":{"to":${n}}}`)).whole()
  for (const [n, target] of ['a', 'b'].entries())
    assert.equal(await heardBy(client, target), [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}',
      `{"jsonrpc":"2.0","id":1,"result":{"to":${n}}}`,
    ])
})

crossing('progress on a server request reaches the only target with prefixed names', async () => {
  const [, client] = await begin(stage, { targets: [puppet('a')], more: 'prefixMode: always' })
  const call = await client.call('a_say', { text: question('a', '1', '7') })
  const [asked] = await call.first(1)
  const { progressToken } = (asked!['params'] as Json)['_meta'] as Json
  await client.notify('notifications/progress', { progressToken, progress: 1 })
  assert.equal(await heardBy(client, 'a'), [
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}',
  ])
})

crossing('progress of two targets with the same token goes to the right calls', async () => {
  const [, client] = await begin(stage, { targets: [server('a'), server('b')] })
  const token = { _meta: { progressToken: 1 } }
  const slow = await client.call('a_slow', {}, token)
  await slow.first(1)
  const notified = await client.call('b_notify', {}, token)
  await notified.whole()
  const methods = notified.messages.map(({ method }) => method)
  assert.is(methods.filter((method) => method === 'notifications/progress').length, 2)
  assert.is(textIn(notified.messages), 'notified')
  assert.is(slow.messages.length, 1)
})

crossing('notifications of the client reach all targets', async () => {
  const [, client] = await begin(stage, { targets: [puppet('a'), puppet('b')] })
  await client.notify('notifications/roots/list_changed')
  for (const target of ['a', 'b'])
    assert.match((await heardBy(client, target)).join(), 'roots/list_changed')
})

crossing('ping and log levels go to all targets, and are answered once', async () => {
  const [, client] = await begin(stage, { targets: [server('a'), server('b')] })
  const ping = await (await client.ask('ping')).only()
  assert.equal(ping['result'], {})
  const level = await (await client.ask('logging/setLevel', { level: 'debug' })).only()
  assert.equal(level['result'], {})
  // A ping restarts the target, which gets the log level again.
  await (await client.call('b_crash')).only()
  const started = await (await client.ask('ping')).only()
  assert.equal(started['result'], {})
  const before = await (await client.ask('logging/setLevel', { level: 'error' })).only()
  assert.equal(before['result'], {})
})

crossing('a target that does not answer a broadcast is named', async () => {
  const targets = [server('a'), puppet('b', '--mute', 'ping')]
  const limits = 'listTimeout: 1s'
  const [, client] = await begin(stage, { targets, limits })
  const { result } = await (await client.ask('ping')).only()
  const reason = "target 'b' did not answer within 1000 ms (config.mcp.listTimeout)"
  assert.equal(result, { _meta: { 'gateway/failedTargets': [{ target: 'b', reason }] } })
  const more = 'failureMode: failClosed'
  const [, strict] = await begin(stage, { targets, limits, more })
  const { error } = await (await strict.ask('ping')).only()
  assert.is((error as Json)['message'], reason)
})

crossing.run()
