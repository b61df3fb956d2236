// Calls of a session: requests reach the target and responses the client, byte for byte and on the right
// stream.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../../support/gateway.ts'
import { Http2Client } from '../../../support/http2-client.ts'
import { begin, McpClient, puppet, server, textIn } from '../mcp-client.ts'
import type { Answer } from '../mcp-client.ts'
import { until } from '../stdio/owner.ts'

const calls = suite('mcp/session/calls')
const stage = new Stage()
calls.after.each(() => stage.clear())

function echo(id: string, text: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"${text}"}}}`
}

calls('an id is returned as the client wrote it', async () => {
  const [, client] = await begin(stage)
  for (const id of ['1', '"a"', '1.0', '12345678901234567890', '"\\u0061"', '-0', '1e2']) {
    const answer = await (await client.post(echo(id, 'é'))).whole()
    const result = '{"content":[{"type":"text","text":"é"}]}'
    assert.equal(answer.texts, [`{"jsonrpc":"2.0","id":${id},"result":${result}}`])
    assert.is(answer.header('content-type'), 'text/event-stream')
    assert.is(answer.header('mcp-session-id'), undefined)
  }
})

calls('everything but the id reaches the target unchanged', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const before = '{ "x":1.0,\t"method":"tools/call", "id":'
  const after =
    ', "params":{"arguments":{"a":1e400,"b":-0,"b":"\\u00e9é"},"name":"line","_meta":{"?":[]}},"jsonrpc":"2.0"}'
  const answer = await client.post(`\n${before}"mine"${after}\r\n`)
  const line = textIn(await answer.first(1))
  const number = /"id":(\d+)/.exec(line)?.[1] ?? ''
  assert.is(line, `${before}${number}${after}`)
})

calls('a line break between values does not end the message', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const body =
    '{"jsonrpc":"2.0",\r\n"id":1,\n"method":"tools/call",\n"params":{"name":"line",\n"x":"\\n"}}'
  const line = textIn(await (await client.post(body)).first(1))
  assert.match(line, /^\{"jsonrpc":"2.0", {2}"id":\d+, "method".* "x":"\\n"\}\}$/)
})

calls('everything but the id reaches the client unchanged', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text =
    '{ "result" : {"a":1.0,"b":1e400,"b":[ ],"é":"\\u00e9"}, "id":$ID,"jsonrpc":"2.0", "?":0}'
  const answer = await (await client.call('say', { text: `${text}\n` })).whole()
  assert.equal(answer.texts, [text.replace('$ID', '1')])
})

calls('an error of the target is forwarded unchanged', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-1.0,"message":"no","data":[1e400]}}'
  const answer = await (await client.call('say', { text: `${text}\n` })).whole()
  assert.is(answer.status, 200)
  assert.equal(answer.texts, [text.replace('$ID', '1')])
})

calls('a call ends with an error when the target answers it with an invalid message', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const deep = '['.repeat(600) + ']'.repeat(600)
  const cases: [text: string, why: string][] = [
    ['{"id":$ID,"result":{}}', 'not a JSON-RPC message: expected "jsonrpc": "2.0"'],
    [
      '{"jsonrpc":"2.0","id":$ID}',
      'not a JSON-RPC message: expected a method, a result or an error',
    ],
    ['{"jsonrpc":"2.0","id":$ID,"result":{"content":[', 'not valid JSON'],
    [`{"jsonrpc":"2.0","id":$ID,"result":${deep}}`, 'nested deeper than 512 levels'],
    [
      '[{"jsonrpc":"2.0","id":$ID}]',
      'not a JSON-RPC message: expected a method, a result or an error',
    ],
  ]
  for (const [text, why] of cases) {
    const answer = await (await client.call('say', { text: `${text}\n` })).whole()
    const message = `target 'one' sent an invalid response: ${why}`
    const error = { code: -32603, message, data: { target: 'one' } }
    const [{ error: received }] = answer.texts.map((json) => JSON.parse(json)) as [
      { error: unknown },
    ]
    assert.equal(received, error, text)
  }
})

calls('a result next to a null error is an answer', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"error":null}\n'
  const answer = await (await client.call('say', { text })).whole()
  assert.equal(answer.texts, ['{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'])
})

calls('calls are answered in the order in which the target answers', async () => {
  const [, client] = await begin(stage)
  const slow = await client.call('slow')
  await slow.first(1)
  const later = await Promise.all(['a', 'b', 'c'].map((text) => client.call('echo', { text })))
  const texts = await Promise.all(later.map(async (answer) => textIn(await answer.first(1))))
  assert.equal(texts, ['a', 'b', 'c'])
  assert.not.ok(slow.isWhole)
})

calls('sessions with the same request ids have their own children and answers', async () => {
  const [gateway, one] = await begin(stage)
  const two = await McpClient.open(stage, gateway)
  assert.is.not(one.session, two.session)
  const answers = [await one.post(echo('7', 'one')), await two.post(echo('7', 'two'))]
  const texts = await Promise.all(answers.map(async (answer) => textIn(await answer.first(1))))
  assert.equal(texts, ['one', 'two'])
  assert.is.not(await one.textOf('pid'), await two.textOf('pid'))
})

calls('parallel calls with the same id get one answer each', async () => {
  const [, client] = await begin(stage)
  const answers = [await client.post(echo('1', 'a')), await client.post(echo('1', 'b'))]
  const texts = await Promise.all(answers.map(async (answer) => textIn(await answer.first(1))))
  assert.equal(texts, ['a', 'b'])
})

calls('messages of a target during a call come on its stream, before the answer', async () => {
  const [, client] = await begin(stage)
  const answer = await client.call('notify', {}, { _meta: { progressToken: 'mine' } })
  const messages = await answer.first(4)
  assert.equal(
    messages.map(({ method }) => method),
    ['notifications/progress', 'notifications/progress', 'notifications/message', undefined],
  )
  assert.equal(messages[0]?.['params'], { progressToken: 'mine', progress: 1, total: 2 })
  assert.is(textIn(messages), 'notified')
})

/** Sends progress for a token, then the answer to its own call. */
function progress(token: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1}}
{"jsonrpc":"2.0","id":$ID,"result":{}}
`
}

calls('progress goes to the call with its token, in any JSON spelling', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const tokens = { '"a"': '"a"', '"\\u00e9"': '"é"', '1.0': '1', '"1"': '"1"', '7': '7' }
  const waiting: [string, Answer][] = []
  for (const [written, echoed] of Object.entries(tokens)) {
    const params = `{"name":"say","arguments":{"text":""},"_meta":{"progressToken":${written}}}`
    const body = `{"jsonrpc":"2.0","id":${written},"method":"tools/call","params":${params}}`
    waiting.push([echoed, await client.post(body)])
  }
  for (const [token, answer] of waiting) {
    const other = await (await client.call('say', { text: progress(token) })).whole()
    assert.is(other.messages.length, 1)
    const [message] = await answer.first(1)
    assert.equal(message?.['params'], { progressToken: JSON.parse(token) as unknown, progress: 1 })
  }
  for (const [, answer] of waiting) assert.is(answer.messages.length, 1)
})

calls('a batch of 2025-03-26 is answered on one stream', async () => {
  const [, client] = await begin(stage, {}, { version: '2025-03-26' })
  const initialized = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
  const unknown = '{"jsonrpc":"2.0","id":"u","method":"tools/call","params":{}}'
  const answer = await client.post(
    `[${echo('1', 'a')}, ${initialized},${unknown},${echo('2', 'b')}]`,
  )
  await answer.whole()
  assert.is(answer.status, 200)
  const byId = new Map(answer.messages.map((message) => [message['id'], message]))
  assert.equal(new Set(byId.keys()), new Set([1, 2, 'u']))
  assert.is(textIn([byId.get(2)!]), 'b')
  assert.is((byId.get('u') as { error: { code: number } }).error.code, -32602)
  assert.match(await client.textOf('heard'), 'roots/list_changed')
  const response = await (await client.post(`[${initialized},${initialized}]`)).whole()
  assert.is(response.status, 202)
})

calls('a batch is refused in versions without batches', async () => {
  const [, client] = await begin(stage)
  const answer = await client.post(`[${echo('1', 'a')}]`)
  const { error } = (await answer.only()) as { error: { message: string } }
  assert.is(answer.status, 400)
  assert.match(error.message, 'no batches in version 2025-06-18')
})

calls('the end of a session answers its open calls', async () => {
  const [gateway, client] = await begin(stage)
  const answers: Answer[] = []
  for (let i = 0; i < 2; i++) {
    const answer = await client.call('slow')
    await answer.first(1)
    answers.push(answer)
  }
  const stream = await client.listen()
  assert.is((await client.delete()).status, 202)
  for (const answer of answers) {
    const { error } = (await answer.whole()).messages.at(-1) as { error: { message: string } }
    assert.is(error.message, 'the session has ended: deleted by the client')
  }
  await stream.whole()
  const after = await client.call('echo')
  assert.is((await after.whole()).status, 404)
  assert.equal((await after.only())['error'], { code: -32001, message: 'session not found' })
  await until(() => gateway.lines.some(({ message }) => message === 'child exited'), 'its end')
})

calls('calls on one connection are answered one after the other', async () => {
  const [, client] = await begin(stage)
  const raw = await stage.client({ port: client.port, host: '127.0.0.1' })
  const texts = ['a', 'b', 'c']
  for (const text of texts) {
    const body = echo('1', text)
    const fields = [
      'POST /mcp HTTP/1.1',
      'host: localhost',
      `mcp-session-id: ${client.session}`,
      'accept: application/json, text/event-stream',
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    raw.send(`${fields.join('\r\n')}\r\n\r\n${body}`)
  }
  await raw.until((text) => text.split('\r\n0\r\n\r\n').length === 4)
  const found = [...raw.text.matchAll(/"text":"(.)"/g)].map(([, text]) => text)
  assert.equal(found, texts)
})

calls('a session id is valid only for its own backend', async () => {
  const route = (name: string): string =>
    `{ name: ${name}, matches: [{ path: { exact: /${name} } }], backends: [{ mcp: { targets: [${server(name)}] } }] }`
  const gateway = await stage.gateway(`routes: [${route('a')}, ${route('b')}]\n`)
  const one = await McpClient.open(stage, gateway, { path: '/a' })
  const other = new McpClient(stage, gateway, { path: '/b' })
  other.session = one.session
  assert.is((await (await other.ask('ping')).whole()).status, 404)
  assert.is((await other.listen()).status, 404)
  assert.is((await other.delete()).status, 404)
  assert.is(await one.textOf('echo', { text: 'x' }), 'x')
})

calls('a client of HTTP/2 has the same session, streams and answers', async () => {
  const [gateway, client] = await begin(stage)
  const h2 = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const head = {
    ':path': '/mcp',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': client.session,
  }
  const stream = h2.request({ ...head, ':method': 'GET' })
  await stream.until(() => stream.status === 200)
  const call = h2.request({ ...head, ':method': 'POST' })
  const params = '{"name":"notify","_meta":{"progressToken":1}}'
  call.stream.end(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
  assert.is(await call.closed(), 0)
  assert.match(call.body, /progress[^]*notifications\/message[^]*"id":1,"result"/)
  await stream.until(() => stream.body.split('list_changed').length === 4)
  const slow = h2.request({ ...head, ':method': 'POST' })
  slow.stream.end('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say"}}')
  await slow.until(() => slow.body !== '' || slow.stream.destroyed)
  assert.match(slow.body, 'Unknown tool: say')
  assert.is((await client.delete()).status, 202)
  assert.is(await stream.closed(), 0)
})

calls.run()
