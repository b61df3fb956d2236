// Internal errors, each of which affects only its own request or session, and error responses of targets.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createAcceptedReply } from '../../../lib/forward/mcp/json-rpc.ts'
import { Stage } from '../../support/gateway.ts'
import type { Line } from '../../support/gateway.ts'
import { Http2Client } from '../../support/http2-client.ts'
import { beginOpenly, groupOf, McpClient, mcpText, sessionsOf } from './mcp-client.ts'
import { until } from './stdio/owner.ts'

const backend = suite('mcp/backend')
const stage = new Stage()
backend.after.each(() => stage.clear())

function broken(): never {
  throw new Error('a fault of ours')
}

/** The messages of the logged internal errors. */
function faultsOf({ lines }: { lines: Line[] }): string[] {
  const faults = lines.filter(({ level }) => level === 'error')
  return faults.map(({ cause }) => String(cause).split('\n')[0]!)
}

backend(
  'an internal error while a message is handled is answered, over HTTP/1 and HTTP/2',
  async () => {
    const [gateway, client] = await beginOpenly(stage)
    groupOf(gateway).beginSession = broken
    const http1 = await new McpClient(stage, gateway).initialize()
    const { error } = await http1.only()
    assert.equal([http1.status, error], [500, { code: -32603, message: 'internal error' }])
    const h2 = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
    const http2 = h2.request({
      ':path': '/mcp',
      ':method': 'POST',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    })
    http2.stream.end('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}')
    await http2.closed()
    assert.is(http2.status, 500)
    assert.equal(faultsOf(gateway), ['Error: a fault of ours', 'Error: a fault of ours'])
    assert.is(await client.textOf('echo', { text: 'x' }), 'x')
  },
)

backend('an internal error after the answer is logged', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const [session] = sessionsOf(gateway)
  session!.receive = (_messages, { attempt }) => {
    attempt.answer(createAcceptedReply())
    broken()
  }
  assert.is((await (await client.ask('ping')).whole()).status, 202)
  assert.equal(faultsOf(gateway), ['Error: a fault of ours'])
  assert.is(gateway.lines.filter(({ message }) => message === 'request').length, 3)
})

backend(
  'an internal error in the sweep of one session ends it, and the others are swept',
  async () => {
    const [gateway, client] = await beginOpenly(stage, { limits: 'goneTtl: 400ms' })
    const other = await McpClient.open(stage, gateway)
    const stream = await other.listen()
    const [first] = sessionsOf(gateway)
    first!.standalone.sweep = broken
    await until(() => faultsOf(gateway).length > 0, 'the fault')
    assert.is((await (await client.ask('ping')).whole()).status, 404)
    assert.is(await other.textOf('echo', { text: 'x' }), 'x')
    stream.raw.destroy()
    await until(() => sessionsOf(gateway).length === 0, 'the end of the other')
    assert.equal(faultsOf(gateway), ['Error: a fault of ours'])
  },
)

backend('an internal error after the death of a target ends only its session', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const other = await McpClient.open(stage, gateway)
  const [first] = sessionsOf(gateway)
  first!.standalone.sendMessage = broken
  first!.clientSetup.replayTo = broken
  await (await client.call('crash')).whole()
  // It is restarted, then the internal error occurs.
  const answer = await (await client.call('echo')).whole()
  assert.match(answer.content, 'the session has ended: internal error')
  assert.is(await other.textOf('echo', { text: 'x' }), 'x')
  assert.equal(faultsOf(gateway), ['Error: a fault of ours'])
})

backend('sends 100 Continue to a client that expects it', async () => {
  const [gateway] = await beginOpenly(stage)
  const client = await stage.client(gateway)
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  client.send(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n` +
      `accept: application/json, text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  await client.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/)
  client.send(body)
  // Without a session the request is refused, after its body was read.
  await client.until(/HTTP\/1.1 4\d\d /)
})

backend('an error response of a target does not return the credentials of the target', async () => {
  const body = 'bad key-of-the-target, token-of-the-target, other-of-the-target'
  const head = `HTTP/1.1 401 Unauthorized\r\ncontent-length: ${body.length}\r\n\r\n`
  const remote = await stage.backend([{ wait: /\r\n\r\n/ }, { send: head + body }])
  const changes =
    '{ set: { x-api-token: Bearer token-of-the-target }, add: { x-other: other-of-the-target } }'
  const policies = `{ backendAuth: { key: key-of-the-target }, requestHeaderModifier: ${changes} }`
  const target = `{ name: far, mcp: { host: "http://127.0.0.1:${remote.port}" }, policies: ${policies} }`
  const gateway = await stage.gateway(mcpText({ targets: [target] }))
  const answer = await (await new McpClient(stage, gateway).initialize()).whole()
  assert.is(answer.status, 401)
  const shown = `bad ${'*'.repeat(17)}, ${'*'.repeat(19)}, other-of-the-target`
  assert.is(answer.content, shown)
})

backend.run()
