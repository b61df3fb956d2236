// Lists of several targets: joined, with prefixed names, and without targets that fail.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_LIST_PAGES } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import { begin, puppet, server } from '../mcp-client.ts'
import type { Json, McpClient } from '../mcp-client.ts'

const lists = suite('mcp/several/lists')
const stage = new Stage()
lists.after.each(() => stage.clear())

async function resultOf(client: McpClient, method: string): Promise<Json> {
  const { result } = await (await client.ask(method)).only()
  return result as Json
}

/** The names in a list, in order. */
async function namesIn(client: McpClient, method: string): Promise<unknown[]> {
  const { _meta, ...result } = await resultOf(client, method)
  const [items] = Object.values(result) as [Json[]]
  return items.map((item) => item['uri'] ?? item['uriTemplate'] ?? item['name'])
}

/** A puppet that lists these tools. */
function offering(name: string, ...tools: string[]): string {
  const answers = { 'tools/list': { tools: tools.map((tool) => ({ name: tool })) } }
  return puppet(name, '--answers', JSON.stringify(answers))
}

lists('names of several targets start with the target’s name', async () => {
  const targets = [server('a', '--tools', 'echo,pid'), server('b', '--tools', 'echo')]
  const [, client] = await begin(stage, { targets })
  assert.equal(await namesIn(client, 'tools/list'), ['a_echo', 'a_pid', 'b_echo'])
  assert.equal(await namesIn(client, 'prompts/list'), ['a_greet', 'b_greet'])
  assert.equal(await namesIn(client, 'resources/list'), [
    'a+test://one',
    'a+test://two',
    'b+test://one',
    'b+test://two',
  ])
  assert.equal(await namesIn(client, 'resources/templates/list'), [
    'a+test://item/{id}',
    'b+test://item/{id}',
  ])
})

lists('a single target keeps its names, unless the prefix mode is always', async () => {
  const targets = [server('a', '--tools', 'echo')]
  const [, plain] = await begin(stage, { targets })
  assert.equal(await namesIn(plain, 'tools/list'), ['echo'])
  const [, never] = await begin(stage, { targets, more: 'prefixMode: never' })
  assert.equal(await namesIn(never, 'tools/list'), ['echo'])
  const [, always] = await begin(stage, { targets, more: 'prefixMode: always' })
  assert.equal(await namesIn(always, 'tools/list'), ['a_echo'])
  assert.equal(await namesIn(always, 'resources/list'), ['a+test://one', 'a+test://two'])
})

lists('without prefixes, names of two targets are left out', async () => {
  const targets = [offering('a', 'x', 'same', 'x'), offering('b', 'same', 'y')]
  const [, client] = await begin(stage, { targets, more: 'prefixMode: never' })
  assert.equal(await namesIn(client, 'tools/list'), ['x', 'x', 'y'])
})

lists('everything but the name of an item stays unchanged', async () => {
  const tool =
    '{"x":1.0,"name":"a\\u0062","inputSchema":{"n":1e400},"_meta":{"ui":{"resourceUri":"ui://page"}}}'
  const text = `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[ ${tool} ,{"title":"no name"},7]}}\n`
  const sayer = `{"tools/list":{"tools":[]}}`
  const [, client] = await begin(stage, {
    targets: [puppet('a', '--list', text), puppet('b', '--answers', sayer)],
  })
  const answer = await (await client.ask('tools/list')).whole()
  const renamed = tool.replace('"a\\u0062"', '"a_ab"').replace('ui://page', 'ui://a+page')
  assert.equal(answer.texts, [`{"jsonrpc":"2.0","id":1,"result":{"tools":[${renamed}]}}`])
})

lists('pages are joined', async () => {
  const answers = {
    'tools/list': { tools: [{ name: '1' }], nextCursor: 'é' },
    'tools/list é': { tools: [{ name: '2' }], nextCursor: 'last' },
    'tools/list last': { tools: [{ name: '3' }] },
  }
  const targets = [puppet('a', '--answers', JSON.stringify(answers)), offering('b', '4')]
  const [, client] = await begin(stage, { targets })
  const result = await resultOf(client, 'tools/list')
  assert.equal(await namesIn(client, 'tools/list'), ['a_1', 'a_2', 'a_3', 'b_4'])
  assert.not('nextCursor' in result)
})

lists('pages of a single target are forwarded with their cursors', async () => {
  const answers = {
    'tools/list': { tools: [{ name: '1' }], nextCursor: 'next' },
    'tools/list next': { tools: [{ name: '2' }] },
  }
  const targets = [puppet('a', '--answers', JSON.stringify(answers))]
  const [, client] = await begin(stage, { targets, more: 'prefixMode: always' })
  const first = await resultOf(client, 'tools/list')
  assert.equal(first, { tools: [{ name: 'a_1' }], nextCursor: 'next' })
  const second = await (await client.ask('tools/list', { cursor: 'next' })).only()
  assert.equal(second['result'], { tools: [{ name: 'a_2' }] })
})

lists('an endless list is aborted', async () => {
  const endless = { 'tools/list': { tools: [], nextCursor: '1' } }
  const again = { 'tools/list 1': { tools: [{ name: 'x' }], nextCursor: '1' } }
  const answers = JSON.stringify({ ...endless, ...again })
  const [, client] = await begin(stage, {
    targets: [puppet('a', '--answers', answers), offering('b', 'y')],
  })
  const { _meta, tools } = await resultOf(client, 'tools/list')
  assert.equal(tools, [{ name: 'b_y' }])
  assert.equal(_meta, {
    'gateway/failedTargets': [{ target: 'a', reason: "target 'a' sent a list that is too long" }],
  })
  assert.ok(MAX_LIST_PAGES < 100)
})

lists('a slow target is left out, and named', async () => {
  const targets = [puppet('a', '--list', ''), offering('b', 'y')]
  const [, client] = await begin(stage, { targets, limits: 'listTimeout: 1s' })
  const { tools, _meta } = await resultOf(client, 'tools/list')
  assert.equal(tools, [{ name: 'b_y' }])
  const reason = "target 'a' did not answer within 1000 ms (config.mcp.listTimeout)"
  assert.equal(_meta, { 'gateway/failedTargets': [{ target: 'a', reason }] })
  // It gets a cancellation and is used again.
  const lines = await client.textOf('a_lines')
  assert.match(lines, 'notifications/cancelled')
})

lists('a dead target is left out, named, and restarted', async () => {
  const targets = [server('a', '--tools', 'crash,pid'), server('b', '--tools', 'echo')]
  const [gateway, client] = await begin(stage, { targets })
  const { error } = await (await client.call('a_crash')).only()
  assert.equal((error as Json)['message'], "target 'a' exited with code 3")
  assert.equal(await namesIn(client, 'tools/list'), ['a_crash', 'a_pid', 'b_echo'])
  await (await client.call('a_crash')).only()
  const { tools, _meta } = await resultOf(client, 'tools/list')
  assert.is((tools as Json[]).length, 1)
  assert.match(
    JSON.stringify(_meta),
    /"target":"a","reason":"target 'a' exited with code 3; it can/,
  )
  assert.is(await client.textOf('b_echo', { text: 'x' }), 'x')
  assert.is(gateway.lines.filter(({ message }) => message === 'target down').length, 2)
})

lists('targets that answer with any error are left out', async () => {
  const errors = ['{"code":1,"message":"mine"}', 'null', '7', '{"message":[]}']
  const failing = errors.map((error, n) =>
    puppet(`a${n}`, '--list', `{"jsonrpc":"2.0","id":$ID,"error":${error}}\n`),
  )
  const [, client] = await begin(stage, { targets: [...failing, offering('b', 'y')] })
  const { tools, _meta } = await resultOf(client, 'tools/list')
  assert.equal(tools, [{ name: 'b_y' }])
  const codes = ['1', 'without a code', 'without a code', 'without a code']
  assert.equal(_meta, {
    'gateway/failedTargets': codes.map((code, n) => ({
      target: `a${n}`,
      reason: `target 'a${n}' answered error ${code}`,
    })),
  })
})

lists('results without a list add nothing', async () => {
  const results = ['null', '[]', '{"tools":{}}', '{"tools":null,"nextCursor":7}']
  const empty = results.map((result, n) =>
    puppet(`a${n}`, '--list', `{"jsonrpc":"2.0","id":$ID,"result":${result}}\n`),
  )
  const [, client] = await begin(stage, { targets: [...empty, offering('b', 'y')] })
  assert.equal(await resultOf(client, 'tools/list'), { tools: [{ name: 'b_y' }] })
})

lists('failClosed: one failure fails the list', async () => {
  const text = '{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"mine"}}\n'
  const [, client] = await begin(stage, {
    targets: [puppet('a', '--list', text), offering('b', 'y')],
    more: 'failureMode: failClosed',
  })
  const { error } = await (await client.ask('tools/list')).only()
  const reason = "target 'a' answered error 1"
  assert.equal(error, {
    code: -32000,
    message: reason,
    data: { failures: [{ target: 'a', reason }] },
  })
})

lists('the list fails if every target fails', async () => {
  const [, client] = await begin(stage, {
    targets: [puppet('a', '--list', ''), puppet('b', '--list', '')],
    limits: 'listTimeout: 200ms',
  })
  const { error } = await (await client.ask('tools/list')).only()
  assert.match((error as Json)['message'] as string, "target 'a' did not answer within 200 ms")
})

lists('a target without such a list is not asked', async () => {
  const bare = puppet('a', '--capabilities', '{"prompts":{}}', '--list', '')
  const [, client] = await begin(stage, { targets: [bare, offering('b', 'y')] })
  assert.equal(await resultOf(client, 'tools/list'), { tools: [{ name: 'b_y' }] })
})

lists.run()
