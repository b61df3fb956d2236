// mcpAuthorization: a forbidden item is neither listed nor usable, in any spelling of its name.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../support/gateway.ts'
import { begin, McpClient, mcpText, puppet, server } from './mcp-client.ts'
import type { Answer, Json } from './mcp-client.ts'

const authorize = suite('mcp/authorize')
const stage = new Stage()
authorize.after.each(() => stage.clear())

/** Rules of which one must match. */
function rules(...expressions: string[]): string {
  const allows = expressions.map((allow) => ({ allow }))
  return `mcpAuthorization: { rules: ${JSON.stringify(allows)} }`
}

async function namesIn(client: McpClient, method: string): Promise<unknown[]> {
  const { result } = await (await client.ask(method)).only()
  const [items] = Object.values(result as Json) as [Json[]]
  return items.map((item) => item['uri'] ?? item['uriTemplate'] ?? item['name'])
}

async function refusal(answer: Answer): Promise<[number, number, string]> {
  const { error } = (await answer.only()) as { error: { code: number; message: string } }
  return [answer.status, error.code, error.message]
}

authorize('lists contain only permitted items, and no other item can be used', async () => {
  const policies = rules(
    'mcp.tool.name in ["echo", "pid"]',
    'mcp.resource.name == "test://one"',
    'has(mcp.prompt) && mcp.prompt.name == "nothing"',
  )
  const [, client] = await begin(stage, { policies })
  assert.equal(await namesIn(client, 'tools/list'), ['echo', 'pid'])
  assert.equal(await namesIn(client, 'resources/list'), ['test://one'])
  assert.equal(await namesIn(client, 'resources/templates/list'), [])
  assert.equal(await namesIn(client, 'prompts/list'), [])
  assert.is(await client.textOf('echo', { text: 'x' }), 'x')
  assert.equal(await refusal(await client.call('env')), [400, -32602, 'Unknown tool: env'])
  const read = await client.ask('resources/read', { uri: 'test://two' })
  assert.equal(await refusal(read), [400, -32602, 'Unknown resource: test://two'])
  const prompt = await client.ask('prompts/get', { name: 'greet' })
  assert.equal(await refusal(prompt), [400, -32602, 'Unknown prompt: greet'])
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
    const answer = await client.ask(method, { uri: 'test://two' })
    assert.equal(await refusal(answer), [400, -32602, 'Unknown resource: test://two'])
  }
  const ref = { type: 'ref/prompt', name: 'greet' }
  const argument = { name: 'who', value: '' }
  const completion = await client.ask('completion/complete', { ref, argument })
  assert.equal(await refusal(completion), [400, -32602, 'Unknown prompt: greet'])
  assert.equal((await (await client.ask('ping')).only())['result'], {})
})

authorize('a duplicate name, or one in another case, does not bypass a rule', async () => {
  const [, client] = await begin(stage, {
    targets: [puppet('one')],
    policies: rules('mcp.tool.name != "lines"'),
  })
  const params = [
    '{"name":"line","name":"lines"}',
    '{"name":"lines","name":"line"}',
    '{"name":"line","Name":"lines"}',
    '{"NAME":"lines","name":"line"}',
    '{"name":"line","n\\u0061me":"lines"}',
    '{"n\\u0061me":"l\\u0069nes"}',
    '{"name":["lines"]}',
    '{"name":"line","ſname":1,"nam\\u0065":"lines"}',
    '{}',
  ]
  for (const text of params) {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${text}}`
    const [status, code] = await refusal(await client.post(body))
    assert.equal([status, code], [400, -32602], text)
  }
  const envelopes = [
    '"params":{"name":"line"},"params":{"name":"lines"}',
    '"params":{"name":"line"},"Params":{"name":"lines"}',
    '"params":{"name":"line"},"p\\u0061rams":{"name":"lines"}',
  ]
  for (const text of envelopes) {
    const answer = await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call",${text}}`)
    assert.is((await answer.whole()).status, 400, text)
  }
})

authorize('rules read the arguments of a call, which must not have duplicates', async () => {
  const policies = rules('mcp.tool.name != "line" || mcp.tool.arguments.path == "/ok"')
  const [, client] = await begin(stage, { targets: [puppet('one')], policies })
  const call = async (text: string): Promise<number> => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"line",${text}}}`
    return (await (await client.post(body)).whole()).status
  }
  assert.is(await call('"arguments":{"path":"/ok"}'), 200)
  for (const text of [
    '"arguments":{"path":"/no"}',
    '"arguments":{}',
    '"arguments":null',
    '"arguments":"/ok"',
    '"x":1',
    '"arguments":{"path":"/no"},"arguments":{"path":"/ok"}',
    '"arguments":{"path":"/ok"},"arguments":{"path":"/no"}',
    '"arguments":{"path":"/ok"},"Arguments":{"path":"/no"}',
    '"arguments":{"path":"/ok","path":"/no"}',
  ])
    assert.is(await call(text), 400, text)
})

authorize('rules read the HTTP request of the call, and its target', async () => {
  const policies = rules(
    '!has(mcp.tool) || mcp.tool.target == "a" || request.headers["x-role"] == "admin"',
  )
  const targets = [server('a', '--tools', 'echo'), server('b', '--tools', 'echo')]
  const gateway = await stage.gateway(mcpText({ targets, policies }))
  const client = await McpClient.open(stage, gateway)
  assert.equal(await namesIn(client, 'tools/list'), ['a_echo'])
  assert.is(await client.textOf('a_echo', { text: 'x' }), 'x')
  assert.equal(await refusal(await client.call('b_echo')), [400, -32602, 'Unknown tool: b_echo'])
  const admin = new McpClient(stage, gateway, { fields: 'x-role: admin\r\n' })
  admin.session = client.session
  assert.equal(await namesIn(admin, 'tools/list'), ['a_echo', 'b_echo'])
  assert.is(await admin.textOf('b_echo', { text: 'x' }), 'x')
  const log = await gateway.logged(7)
  assert.is(log.at(-1)?.['mcp.resource.name'], 'echo')
})

authorize('without prefixes, a forbidden item does not make a name ambiguous', async () => {
  const offering = (name: string, ...tools: string[]): string => {
    const answers = { 'tools/list': { tools: tools.map((tool) => ({ name: tool })) } }
    return puppet(name, '--answers', JSON.stringify(answers))
  }
  const [, client] = await begin(stage, {
    targets: [offering('a', 'line', 'secret'), offering('b', 'line')],
    policies: rules('mcp.tool.target == "b"'),
    more: 'prefixMode: never',
  })
  assert.match(await client.textOf('line'), '"name":"line"')
  const secret = await client.call('secret')
  assert.equal(await refusal(secret), [400, -32602, 'Unknown tool: secret'])
  assert.equal(await namesIn(client, 'tools/list'), ['line'])
})

authorize('calls in a batch are authorized one by one', async () => {
  const [, client] = await begin(
    stage,
    { policies: rules('mcp.tool.name == "echo"') },
    { version: '2025-03-26' },
  )
  const call = (id: number, name: string): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}`
  const answer = await (await client.post(`[${call(1, 'env')},${call(2, 'echo')}]`)).whole()
  assert.is(answer.status, 200)
  const byId = new Map(answer.messages.map((message) => [message['id'], message]))
  assert.ok('error' in byId.get(1)!)
  assert.ok('result' in byId.get(2)!)
})

authorize.run()
