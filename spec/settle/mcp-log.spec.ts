// What the access log says of MCP requests, and what else is told of sessions.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { begin, McpClient, mcpText, puppet, server } from '../forward/mcp/mcp-client.ts'
import { until } from '../forward/mcp/stdio/owner.ts'
import { Stage } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'

const log = suite('settle/mcp-log')
const stage = new Stage()
log.after.each(() => stage.clear())

/** What a line says of MCP, and how it ended. */
function mcpOf(line: Line | undefined): Record<string, unknown> {
  const entries = Object.entries(line ?? {})
  return Object.fromEntries(
    entries.filter(([name]) =>
      /^(?:mcp\..*|protocol|http\.status|outcome|error|reason)$/.test(name),
    ),
  )
}

log('a session’s requests say what they are, and to which session they belong', async () => {
  const [gateway, client] = await begin(stage)
  const session = client.session.slice(0, 8)
  await client.textOf('echo', { text: 'secret' })
  await (await client.ask('resources/read', { uri: 'test://one' })).whole()
  await (await client.ask('prompts/get', { name: 'greet' })).whole()
  await (await client.ask('tools/list')).whole()
  await (await client.post('{"jsonrpc":"2.0","id":9,"result":{}}')).whole()
  const stream = await client.listen()
  await client.delete()
  await stream.whole()
  const lines = (await gateway.logged(9)).map(mcpOf)
  const common = {
    protocol: 'mcp',
    'http.status': 200,
    'mcp.session.id': session,
    outcome: 'complete',
  }
  const told = { ...common, 'http.status': 202 }
  const item = (method: string, type: string, name: string) => ({
    ...common,
    'mcp.method.name': method,
    'mcp.target': 'one',
    'mcp.resource.type': type,
    'mcp.resource.name': name,
  })
  assert.equal(lines.slice(0, 7), [
    { ...common, 'mcp.method.name': 'initialize' },
    { ...told, 'mcp.method.name': 'notifications/initialized' },
    item('tools/call', 'tool', 'echo'),
    item('resources/read', 'resource', 'test://one'),
    item('prompts/get', 'prompt', 'greet'),
    { ...common, 'mcp.method.name': 'tools/list' },
    told,
  ])
  // The stream ends with its session, before the answer that says so.
  assert.equal(lines.slice(7), [common, told])
  assert.not.match(JSON.stringify(gateway.lines), 'secret')
  assert.not.match(JSON.stringify(gateway.lines), client.session)
})

log('a session begins and ends with a line, and so does a child', async () => {
  const [gateway, client] = await begin(stage)
  await client.delete()
  const line = (message: string) => gateway.lines.find((one) => one.message === message)
  await until(() => line('child exited') !== undefined, 'the end of the child')
  const session = client.session.slice(0, 8)
  for (const message of ['started child', 'child exited', 'session started', 'session ended'])
    assert.is(line(message)?.['mcp.session.id'], session, message)
  assert.is(line('started child')?.['target'], 'one')
  assert.is(line('child exited')?.['code'], 0)
  assert.is(line('session started')?.['version'], '2025-06-18')
  assert.is(line('session ended')?.['reason'], 'deleted by the client')
  assert.match(String(line('session ended')?.['age']), /^\d+ms$/)
})

log('requests that have no session say so by their status', async () => {
  const gateway = await stage.gateway(mcpText())
  const client = new McpClient(stage, gateway)
  await (await client.ask('ping')).whole()
  client.session = 'nobody'
  await (await client.ask('ping')).whole()
  await client.listen()
  await client.delete()
  await (await client.send('PUT', 'content-length: 0\r\n')).whole()
  const lines = (await gateway.logged(5)).map(mcpOf)
  assert.equal(
    lines,
    [400, 404, 404, 404, 405].map((status) => ({
      protocol: 'mcp',
      'http.status': status,
      outcome: 'complete',
    })),
  )
})

log('the owner among several targets is named, by the name it knows', async () => {
  const [gateway, client] = await begin(stage, { targets: [server('a'), server('b')] })
  await client.textOf('b_echo')
  await (await client.call('c_echo')).whole()
  const [, , call, unknown] = (await gateway.logged(4)).map(mcpOf)
  assert.equal([call?.['mcp.target'], call?.['mcp.resource.name']], ['b', 'echo'])
  assert.equal([unknown?.['mcp.target'], unknown?.['http.status']], [undefined, 400])
})

log('a call that failed says with which code, and why if that was ours', async () => {
  const [gateway, client] = await begin(stage)
  await (await client.call('crash')).whole()
  await (await client.call('no\nsuch')).whole()
  await (await client.ask('tools/call')).whole()
  const lines = (await gateway.logged(5)).map(mcpOf).slice(2)
  assert.equal(
    lines.map((line) => [line['mcp.error.code'], line['error']]),
    [
      [-32000, "target 'one' exited with code 3"],
      [-32602, undefined],
      [-32602, "params: 'name' is missing"],
    ],
  )
})

log('a call that did not fail says nothing of the like', async () => {
  const failing = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-7,"message":"mine"}}\n'
  const offer = '{"tools/list":{"tools":[{"name":"line"}]}}'
  const targets = [puppet('a', '--list', failing), puppet('b', '--answers', offer)]
  const [gateway, client] = await begin(stage, { targets, more: 'prefixMode: never' })
  await (await client.ask('tools/list')).whole()
  await (await client.call('line')).whole()
  const lines = (await gateway.logged(4)).map(mcpOf).slice(2)
  for (const line of lines) assert.not('mcp.error.code' in line, JSON.stringify(line))
})

log('a client that leaves is told of by phase', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const waiting = await client.call('say')
  await client.textOf('line')
  waiting.raw.destroy()
  await gateway.logged(4)
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
  const streaming = await client.call('say', { text: note })
  await streaming.first(1)
  streaming.raw.destroy()
  await gateway.logged(5)
  const stream = await client.listen()
  stream.raw.destroy()
  const lines = (await gateway.logged(6)).map(mcpOf).slice(3)
  assert.equal(
    lines.map((line) => [line['http.status'], line['outcome']]),
    [
      [499, 'client_closed'],
      [200, 'client_closed'],
      [200, 'client_closed'],
    ],
  )
})

// One call with a name of three megabytes wrote a line of three megabytes.
log('words of a client are cut', async () => {
  const [gateway, client] = await begin(stage)
  await (await client.ask('tools/call', { name: 'x'.repeat(5000) })).whole()
  const line = (await gateway.logged(3)).at(-1)
  assert.is(String(line?.['mcp.resource.name']), `${'x'.repeat(256)}…`)
})

log.run()
