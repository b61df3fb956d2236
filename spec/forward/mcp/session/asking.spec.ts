// Requests from targets to the client (sampling, elicitation, roots), and the client's answers.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_SERVER_REQUESTS } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import { begin, puppet, textIn } from '../mcp-client.ts'
import type { Json, McpClient } from '../mcp-client.ts'

const asking = suite('mcp/session/asking')
const stage = new Stage()
asking.after.each(() => stage.clear())

const ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{}}\n'

/** The requests of the puppet; it records the answers like notifications. */
function roots(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"roots/list"}\n`
}

function cancelled(id: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"late"}}\n`
}

async function answerTo(client: McpClient, id: unknown, rest: string): Promise<void> {
  const answer = await client.post(`{"jsonrpc":"2.0","id":${String(id)},${rest}}`)
  assert.is((await answer.whole()).status, 202)
}

/** The messages at the puppet that are not requests, without `initialized`. */
async function heard(client: McpClient): Promise<string[]> {
  return (JSON.parse(await client.textOf('lines')) as string[]).slice(1)
}

asking(
  'a server request goes to the stream of the call, and the target gets the answer',
  async () => {
    const [, client] = await begin(stage)
    for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list']) {
      const call = await client.call('ask', { method })
      const [question] = await call.first(1)
      assert.is(question?.['method'], method)
      await answerTo(client, question?.['id'], '"result":{"roots":[],"n":1e2}')
      assert.is(textIn(await call.first(2)), '{"roots":[],"n":100}')
    }
    const call = await client.call('ask')
    const [question] = await call.first(1)
    await answerTo(client, question?.['id'], '"error":{"code":-1,"message":"declined"}')
    assert.is(textIn(await call.first(2)), '{"code":-1,"message":"declined"}')
  },
)

asking('the client sees ids of the session, the target its own ids', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const call = await client.call('say', { text: roots('"a\\u0062"') + roots('1.50') + ANSWER })
  await call.whole()
  const ids = call.messages.slice(0, 2).map(({ id }) => id)
  assert.is(new Set(ids).size, 2)
  await answerTo(client, ids[1], '"result":{"n":1.0}')
  await answerTo(client, ids[0], '"result":{}, "x":2')
  assert.equal(await heard(client), [
    '{"jsonrpc":"2.0","id":1.50,"result":{"n":1.0}}',
    '{"jsonrpc":"2.0","id":"a\\u0062","result":{}, "x":2}',
  ])
})

asking('an unrequested or second answer is dropped', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const call = await (await client.call('say', { text: roots('7') + ANSWER })).whole()
  const id = call.messages[0]?.['id']
  for (const one of [id, id, 7, '"1"', 99]) await answerTo(client, one, '"result":{}')
  assert.is((await heard(client)).length, 1)
})

asking('without a call, a server request goes to the stand-alone stream', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const quiet = await client.call('say', { text: ANSWER })
  await quiet.whole()
  // Written after the answer, when no call is open.
  const call = await client.call('say', { text: ANSWER + roots('1') })
  await call.whole()
  const stream = await client.listen()
  const [question] = await stream.first(1)
  assert.is(question?.['method'], 'roots/list')
})

asking('a target cancels its request with the id that the client knows', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const call = await client.call('say', { text: roots('"q"') + cancelled('"q"') + ANSWER })
  const [question, notice] = await call.first(3)
  assert.equal(notice?.['params'], { requestId: question?.['id'], reason: 'late' })
  await answerTo(client, question?.['id'], '"result":{}')
  assert.equal(await heard(client), [])
})

asking('a target can cancel its request after the call whose stream carried it', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const stream = await client.listen()
  const call = await (await client.call('say', { text: roots('1') + ANSWER })).whole()
  await (await client.call('say', { text: ANSWER + cancelled('1') })).whole()
  const [notice] = await stream.first(1)
  const { requestId } = notice!['params'] as Json
  assert.is(requestId, call.messages[0]?.['id'])
})

asking('requests of a target that dies are cancelled', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const stream = await client.listen()
  const call = await client.call('say', { text: roots('1') + roots('2'), code: 1 })
  await call.whole()
  const ids = call.messages.slice(0, 2).map(({ id }) => id)
  const notices = await stream.first(2)
  const reason = "target 'one' exited with code 1"
  assert.equal(
    notices.map(({ method, params }) => [method, params]),
    ids.map((requestId) => ['notifications/cancelled', { requestId, reason }]),
  )
  // The restarted target has not sent a request.
  await answerTo(client, ids[0], '"result":{}')
  assert.equal(await heard(client), [])
})

asking('a server request above the bound is answered with an error', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text = Array.from({ length: MAX_SERVER_REQUESTS + 1 }, (_, n) => roots(String(n))).join('')
  const call = await client.call('say', { text })
  await call.first(MAX_SERVER_REQUESTS)
  const [refusal, ...more] = await heard(client)
  const { id, error } = JSON.parse(refusal!) as { id: number; error: { message: string } }
  assert.is(id, MAX_SERVER_REQUESTS)
  assert.is(error.message, 'too many requests wait for the client')
  assert.equal(more, [])
  assert.is(call.messages.length, MAX_SERVER_REQUESTS)
})

asking('server requests of finished calls are dropped when the bound is reached', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text = Array.from({ length: MAX_SERVER_REQUESTS }, (_, n) => roots(String(n))).join('')
  await (await client.call('say', { text: text + ANSWER })).whole()
  const call = await client.call('say', { text: roots('"new"') })
  const [question] = await call.first(1)
  await answerTo(client, question?.['id'], '"result":{}')
  const lines = await heard(client)
  assert.is(lines.at(-1), '{"jsonrpc":"2.0","id":"new","result":{}}')
  // The target of the dropped request gets an error.
  assert.match(lines[0]!, /"id":0,"error"/)
})

asking.run()
