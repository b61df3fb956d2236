// Calls, prompts, resources and completions with several targets: each goes to its owner under the target's name, and
// results have client names.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../../support/gateway.ts'
import { begin, puppet, server } from '../mcp-client.ts'
import type { Answer, Json } from '../mcp-client.ts'

const items = suite('mcp/several/items')
const stage = new Stage()
items.after.each(() => stage.clear())

const TWO = [server('a'), server('b')]

async function resultOf(answer: Answer): Promise<Json> {
  const { result } = await answer.only()
  return result as Json
}

async function refusal(answer: Answer): Promise<[number, number, string]> {
  const { error } = (await answer.only()) as { error: { code: number; message: string } }
  return [answer.status, error.code, error.message]
}

items('a call goes to the target in its name', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  assert.is(await client.textOf('a_echo', { text: 'x' }), 'x')
  assert.is.not(await client.textOf('a_pid'), await client.textOf('b_pid'))
  for (const name of ['echo', 'c_echo', '_echo', 'a', '', 'a+echo', 'A_echo']) {
    const answer = await client.call(name)
    assert.equal(await refusal(answer), [400, -32602, `Unknown tool: ${name}`])
  }
  // The target's own error, with the target's name of the tool.
  const own = await client.call('a_no_such')
  assert.equal(await refusal(own), [200, -32602, 'Unknown tool: no_such'])
})

items('everything else in a call stays unchanged', async () => {
  const [, client] = await begin(stage, { targets: [puppet('a'), puppet('b')] })
  const params = '{ "arguments":{"n":1e400,"name":"a_x"},"na\\u006de" : "b_line","_meta":{"x":1.0}}'
  const answer = await client.post(
    `{"id":"i","method":"tools/call","params":${params},"jsonrpc":"2.0"}`,
  )
  const { content } = (await resultOf(answer)) as { content: { text: string }[] }
  const { text } = content[0]!
  const { id } = JSON.parse(text) as { id: number }
  const inside = params.replace('b_line', 'line')
  assert.is(text, `{"id":${id},"method":"tools/call","params":${inside},"jsonrpc":"2.0"}`)
})

items('prompts and resources go to their owners', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  const prompt = await resultOf(await client.ask('prompts/get', { name: 'b_greet', arguments: {} }))
  assert.match(JSON.stringify(prompt), 'Hello, world, from b')
  for (const uri of ['a+test://one', 'b+test://item/7']) {
    const result = await resultOf(await client.ask('resources/read', { uri }))
    const [target, rest] = uri.split('+') as [string, string]
    const text = `${target}: ${rest}`
    assert.equal(result, { contents: [{ uri, mimeType: 'text/plain', text }] })
  }
  for (const uri of ['test://one', 'c+test://one', 'ui://x'])
    assert.equal(await refusal(await client.ask('resources/read', { uri })), [
      400,
      -32602,
      `Unknown resource: ${uri}`,
    ])
})

items('URIs in results are client names', async () => {
  const [, client] = await begin(stage, { targets: [puppet('a'), puppet('b')] })
  const link = (uri: string): string => `{"type":"resource_link","uri":"${uri}","n":1.0}`
  const text = (before: (uri: string) => string): string => {
    const embedded = `{"type":"resource","resource":{"uri":"${before('ui://p')}"}}`
    const content = `[${link(before('x://1'))},{"type":"text","text":"x://1"},${embedded}]`
    return `{"jsonrpc":"2.0","id":$ID,"result":{"content":${content},"structuredContent":{"uri":"x://1"}}}`
  }
  const answer = await client.call('b_say', { text: `${text((uri) => uri)}\n` })
  await answer.whole()
  const outside = (uri: string): string => (uri === 'ui://p' ? 'ui://b+p' : `b+${uri}`)
  assert.equal(answer.texts, [text(outside).replace('$ID', '1')])
})

items('tasks go to their owners', async () => {
  const task = { taskId: 't+1', status: 'working' }
  const answers = { 'tasks/get': task, 'tasks/result': { content: [], _meta: related('t+1') } }
  const capabilities = '{"tools":{},"tasks":{}}'
  const lists = { 'tasks/list': { tasks: [task] } }
  const args = [
    '--capabilities',
    capabilities,
    '--answers',
    JSON.stringify({ ...answers, ...lists }),
  ]
  const [, client] = await begin(stage, { targets: [puppet('a'), puppet('b', ...args)] })
  const stream = await client.listen()
  const status = '{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t+1"}}'
  const text = `${status}\n{"jsonrpc":"2.0","id":$ID,"result":{"task":{"taskId":"t+1"}}}\n`
  const created = await resultOf(await client.call('b_say', { text }))
  const taskId = 'b+t+1'
  assert.equal(created, { task: { taskId } })
  assert.equal((await stream.first(1))[0]?.['params'], { taskId })
  assert.equal(await resultOf(await client.ask('tasks/get', { taskId })), { ...task, taskId })
  const result = await resultOf(await client.ask('tasks/result', { taskId }))
  assert.equal(result, { content: [], _meta: related(taskId) })
  const list = await resultOf(await client.ask('tasks/list'))
  assert.equal(list, { tasks: [{ ...task, taskId }] })
  const unknown = await client.ask('tasks/cancel', { taskId: 't+1' })
  assert.equal(await refusal(unknown), [400, -32602, 'Unknown task: t+1'])
})

function related(taskId: string): Json {
  return { 'io.modelcontextprotocol/related-task': { taskId } }
}

items('an updated resource has the name under which the client subscribed', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  const stream = await client.listen()
  await resultOf(await client.ask('resources/subscribe', { uri: 'b+test://one' }))
  assert.is(await client.textOf('a_touch', { uri: 'test://one' }), 'not subscribed')
  assert.is(await client.textOf('b_touch', { uri: 'test://one' }), 'updated')
  const [notice] = await stream.first(1)
  assert.equal(notice?.['params'], { uri: 'b+test://one' })
  // A restarted target gets the subscription again, with its own names.
  await (await client.call('b_crash')).only()
  assert.is(await client.textOf('b_touch', { uri: 'test://one' }), 'updated')
  await resultOf(await client.ask('resources/unsubscribe', { uri: 'b+test://one' }))
  assert.is(await client.textOf('b_touch', { uri: 'test://one' }), 'not subscribed')
})

items('a completion goes to the owner of its reference', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  const argument = { name: 'who', value: 'pa' }
  for (const ref of [
    { type: 'ref/prompt', name: 'b_greet' },
    { type: 'ref/resource', uri: 'a+test://item/{id}' },
  ]) {
    const { completion } = await resultOf(
      await client.ask('completion/complete', { ref, argument }),
    )
    assert.equal((completion as Json)['values'], ['paris', 'park', 'party'])
  }
  const unknown = { type: 'ref/prompt', name: 'greet' }
  const answer = await client.ask('completion/complete', { ref: unknown, argument })
  assert.equal(await refusal(answer), [400, -32602, 'Unknown prompt: greet'])
})

items('requests without the name of an item are refused', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  const cases: [string, string][] = [
    ['tools/call', '{}'],
    ['tools/call', '{"name":7}'],
    ['tools/call', '{"name":"a_echo","name":"b_echo"}'],
    ['tools/call', '{"name":"a_echo","Name":"b_echo"}'],
    ['tools/call', '[]'],
    ['prompts/get', '{"NAME":"a_greet"}'],
    ['resources/read', '{"uri":"a+test://one","\\u0075ri":"b+test://one"}'],
    ['completion/complete', '{"ref":{}}'],
    ['completion/complete', '{"ref":{"type":"ref/prompt","type":"ref/resource","name":"a_greet"}}'],
  ]
  for (const [method, params] of cases) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
    const [status, code] = await refusal(await client.post(text))
    assert.equal([status, code], [400, -32602], text)
  }
  const none = await client.post('{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
  assert.equal(await refusal(none), [400, -32602, 'params is missing'])
})

items('an unknown method is refused', async () => {
  const [, client] = await begin(stage, { targets: TWO })
  const answer = await client.ask('resources/subscribe/all')
  assert.equal(await refusal(answer), [200, -32601, 'Method not found: resources/subscribe/all'])
})

/** A puppet that lists these tools. */
function offering(name: string, ...tools: string[]): string {
  const answers = { 'tools/list': { tools: tools.map((tool) => ({ name: tool })) } }
  return puppet(name, '--answers', JSON.stringify(answers))
}

items('without prefixes the lists show the owner, and names of two targets have none', async () => {
  const targets = [offering('a', 'line', 'same'), offering('b', 'lines', 'same')]
  const [, client] = await begin(stage, { targets, more: 'prefixMode: never' })
  assert.match(await client.textOf('line'), '"name":"line"')
  assert.match(await client.textOf('lines'), 'notifications/initialized')
  const same = await client.call('same')
  assert.equal(await refusal(same), [400, -32602, 'Unknown tool: same'])
  assert.equal(await refusal(await client.call('other')), [400, -32602, 'Unknown tool: other'])
})

items('a changed list is requested again', async () => {
  const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
  const answer = '{"jsonrpc":"2.0","id":$ID,"result":{}}\n'
  const targets = [offering('a', 'say'), offering('b', 'lines')]
  const [gateway, client] = await begin(stage, { targets, more: 'prefixMode: never' })
  const stream = await client.listen()
  await (await client.call('say', { text: changed + answer })).only()
  await stream.first(1)
  assert.match(await client.textOf('lines'), 'initialized')
  assert.is(gateway.lines.filter(({ level }) => level === 'error').length, 0)
})

items.run()
