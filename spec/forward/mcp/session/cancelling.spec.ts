// Cancelled calls: the target gets one cancellation with the id that it knows.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RESUME_GRACE_MS } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import { Http2Client } from '../../../support/http2-client.ts'
import { begin, beginOpenly, puppet, sessionsOf, textIn } from '../mcp-client.ts'
import type { Json, McpClient } from '../mcp-client.ts'
import { until } from '../stdio/owner.ts'

const cancelling = suite('mcp/session/cancelling')
const stage = new Stage()
cancelling.after.each(() => stage.clear())

const CANCELLED = 'notifications/cancelled'

/** The cancellations that the puppet received. */
async function cancelled(client: McpClient): Promise<Json[]> {
  const lines = JSON.parse(await client.textOf('lines')) as string[]
  const notices = lines.map((line) => JSON.parse(line) as Json)
  return notices.flatMap(({ method, params }) => (method === CANCELLED ? [params as Json] : []))
}

/** A call that the puppet does not answer, and its id at the puppet. */
async function held(
  client: McpClient,
  text = '',
): Promise<[Awaited<ReturnType<McpClient['call']>>, number]> {
  const answer = await client.call('say', { text })
  if (text !== '') await answer.first(1)
  const line = JSON.parse(await client.textOf('line')) as { id: number }
  return [answer, line.id - 1]
}

cancelling(
  'the cancellation of the client reaches the target, and the call ends without an answer',
  async () => {
    const [, client] = await begin(stage)
    const answer = await client.call('slow')
    await answer.first(1)
    await client.notify(CANCELLED, { requestId: 1, reason: 'enough' })
    await answer.whole()
    assert.is(answer.messages.length, 1)
    const notices = JSON.parse(await client.textOf('heard')) as { method: string; params: Json }[]
    const [notice] = notices.filter(({ method }) => method === CANCELLED)
    assert.is(notice?.params['reason'], 'enough')
  },
)

cancelling('a cancelled call that had no message yet gets an empty stream', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const [answer, id] = await held(client)
  await client.notify(CANCELLED, { requestId: 1 })
  await answer.whole()
  assert.is(answer.status, 200)
  assert.equal(answer.events, [])
  assert.equal(await cancelled(client), [{ requestId: id, reason: 'cancelled by the client' }])
})

cancelling('a cancellation of an unknown call is not forwarded', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const [answer, id] = await held(client)
  for (const requestId of [id, 99, '1', null]) await client.notify(CANCELLED, { requestId })
  await client.notify(CANCELLED)
  assert.equal(await cancelled(client), [])
  assert.not.ok(answer.isWhole)
})

cancelling('a late answer to a cancelled call is dropped', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const [answer, id] = await held(client)
  await client.notify(CANCELLED, { requestId: 1 })
  await answer.whole()
  const late = `{"jsonrpc":"2.0","id":${id},"result":{}}\n`
  const other = await client.call('say', {
    text: `${late}{"jsonrpc":"2.0","id":$ID,"result":{}}\n`,
  })
  assert.is((await other.only())['id'], 3)
  assert.equal(answer.messages, [])
})

for (const leave of ['destroy', 'reset', 'halfClose'] as const)
  cancelling(
    `a client that leaves before the answer’s head (${leave}) cancels at once`,
    async () => {
      const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
      const [answer, id] = await held(client)
      answer.raw[leave]()
      const left = (): boolean => gateway.lines.some((line) => line['outcome'] === 'client_closed')
      await until(left, 'its leave')
      assert.equal(await cancelled(client), [
        { requestId: id, reason: 'the client closed the stream' },
      ])
    },
  )

cancelling('a client that leaves a resumable stream has time to resume it', async () => {
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] })
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
  const [answer, id] = await held(client, note)
  answer.raw.destroy()
  await until(() => gateway.lines.some((line) => line['outcome'] === 'client_closed'), 'its leave')
  const [session] = sessionsOf(gateway)
  session!.sweep(performance.now() + RESUME_GRACE_MS - 1_000)
  assert.equal(await cancelled(client), [])
  session!.sweep(performance.now() + RESUME_GRACE_MS)
  assert.equal(await cancelled(client), [{ requestId: id, reason: 'the client closed the stream' }])
  assert.is(session!.calls.size, 0)
  assert.is((await client.listen('2-1')).status, 400)
})

cancelling('a client of HTTP/2 that resets its stream cancels at once', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const h2 = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const call = h2.request({
    ':path': '/mcp',
    ':method': 'POST',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': client.session,
  })
  call.stream.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say"}}')
  const line = JSON.parse(await client.textOf('line')) as { id: number }
  call.stream.close()
  await until(() => gateway.lines.some((one) => one['outcome'] === 'client_closed'), 'its leave')
  assert.equal(
    (await cancelled(client)).map(({ requestId }) => requestId),
    [line.id - 1],
  )
})

cancelling('calls of one batch are cancelled together', async () => {
  const [gateway, client] = await begin(
    stage,
    { targets: [puppet('one')] },
    { version: '2025-03-26' },
  )
  const say = (id: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"say"}}`
  const answer = await client.post(`[${say(1)},${say(2)}]`)
  const line = JSON.parse(await client.textOf('line')) as { id: number }
  answer.raw.destroy()
  await until(() => gateway.lines.some((one) => one['outcome'] === 'client_closed'), 'its leave')
  assert.equal(
    (await cancelled(client)).map(({ requestId }) => requestId),
    [line.id - 2, line.id - 1],
  )
})

cancelling('a request time-out of the route cancels', async () => {
  const [, client] = await begin(stage, {
    targets: [puppet('one')],
    policies: 'timeout: { requestTimeout: 2s }',
  })
  const [answer, id] = await held(client)
  assert.is((await answer.only())['id'], null)
  assert.is(answer.status, 504)
  assert.equal(
    (await cancelled(client)).map(({ requestId }) => requestId),
    [id],
  )
  assert.is(textIn(await (await client.call('line')).first(1)).length > 0, true)
})

cancelling.run()
