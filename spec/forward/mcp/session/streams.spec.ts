// Streams to a client: the stand-alone stream, and resumed streams.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MCP_LIMITS } from '../../../../lib/core/bounds.ts'
import { HEAD_DELAY_MS } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import { begin, beginOpenly, puppet, sessionsOf, textIn } from '../mcp-client.ts'
import type { Answer, Json, McpClient } from '../mcp-client.ts'
import { until } from '../stdio/owner.ts'

const streams = suite('mcp/session/streams')
const stage = new Stage()
streams.after.each(() => stage.clear())

const ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{}}\n'

function note(n: number | string): string {
  return `{"jsonrpc":"2.0","method":"notifications/message","params":{"n":${n}}}\n`
}

function listChanged(list: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}\n`
}

function numbersOf(messages: readonly Json[]): unknown[] {
  return messages.map(({ params }) => (params as Json | undefined)?.['n'])
}

/** A call that has sent these numbers as progress and has no answer yet. */
async function under(client: McpClient, ...numbers: number[]): Promise<Answer> {
  const answer = await client.call('say', { text: numbers.map(note).join('') })
  await answer.first(numbers.length)
  return answer
}

/** Makes the puppet write something and answer. */
async function say(client: McpClient, text: string): Promise<void> {
  await (await client.call('say', { text: text + ANSWER })).whole()
}

streams('list changes go to the stand-alone stream, also during a call', async () => {
  const [, client] = await begin(stage)
  const stream = await client.listen()
  assert.is(stream.status, 200)
  assert.is(stream.header('content-type'), 'text/event-stream')
  const answer = await (await client.call('notify')).whole()
  assert.is(answer.messages.length, 2)
  const methods = (await stream.first(3)).map(({ method }) => method)
  const lists = ['tools', 'resources', 'prompts']
  assert.equal(
    methods,
    lists.map((name) => `notifications/${name}/list_changed`),
  )
})

streams('events before the first GET are delivered when it opens, once', async () => {
  const [, client] = await begin(stage)
  await (await client.call('notify')).whole()
  const first = await client.listen()
  assert.is((await first.first(3)).length, 3)
  const second = await client.listen()
  await (await client.call('notify')).whole()
  assert.is((await second.first(3)).length, 3)
})

streams('a second GET replaces the first, which ends', async () => {
  const [gateway, client] = await begin(stage)
  const first = await client.listen()
  const second = await client.listen()
  await first.whole()
  await (await client.call('notify')).whole()
  assert.is((await second.first(3)).length, 3)
  assert.equal(first.messages, [])
  const gets = (await gateway.logged(4)).filter((line) => line['http.method'] === 'GET')
  assert.equal(
    gets.map(({ outcome }) => outcome),
    ['complete'],
  )
})

streams(
  'the stand-alone stream resumes after the last event that the client received',
  async () => {
    const [, client] = await begin(stage, { targets: [puppet('one')] })
    const first = await client.listen()
    await say(client, listChanged('tools') + listChanged('prompts'))
    await first.first(2)
    const [seen] = first.events
    first.raw.destroy()
    await say(client, listChanged('resources'))
    const second = await client.listen(seen!.id)
    const methods = (await second.first(2)).map(({ method }) => method)
    assert.equal(methods, [
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ])
    await say(client, listChanged('tools'))
    assert.is((await second.first(3)).length, 3)
  },
)

streams("a call's broken stream resumes where it broke", async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const answer = await under(client, 1, 2)
  const { id } = answer.events[0]!
  answer.raw.destroy()
  const rest = await client.listen(id)
  await rest.first(1)
  // The only open call owns it.
  const ending = await client.call('say', { text: note(3) + ANSWER.replace('$ID', '2') + ANSWER })
  await ending.whole()
  await rest.whole()
  assert.equal(numbersOf(rest.messages), [2, undefined])
  assert.is(rest.messages[1]?.['id'], 1)
})

streams(
  'an answer that arrived while the client was disconnected can be requested later',
  async () => {
    const [gateway, client] = await begin(stage)
    const answer = await client.call('slow', { ms: 100 })
    await answer.first(1)
    const { id } = answer.events[0]!
    answer.raw.destroy()
    await until(
      () => gateway.lines.some((line) => line['outcome'] === 'client_closed'),
      'its leave',
    )
    const other = await client.call('slow', { ms: 200 })
    await other.whole()
    for (const again of [await client.listen(id), await client.listen(id)]) {
      await again.whole()
      assert.is(textIn(again.messages), 'waited 100 ms')
    }
  },
)

streams('an unknown Last-Event-ID is refused', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const stream = await client.listen()
  await say(client, listChanged('tools'))
  await stream.first(1)
  for (const id of ['9-1', 'x', '0-0', '0-2', '0-999', '-1-0', '0', '1-1']) {
    const answer = await (await client.listen(id)).whole()
    assert.is(answer.status, 400, id)
    const { error } = (await answer.only()) as { error: { message: string } }
    assert.is(error.message, `unknown Last-Event-ID ${id}`)
  }
  assert.not.ok(stream.isWhole)
})

streams('a call without events cannot be resumed by its number', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const answer = await client.call('say', { text: '' })
  for (const id of ['1-0', '2-0', '2-1', '3-0', '3-1']) {
    const again = await client.listen(id)
    assert.is((await again.whole()).status, 400, id)
  }
  await say(client, ANSWER.replace('$ID', '2'))
  assert.is((await answer.only())['id'], 1)
})

streams('dropped events are counted, and the rest is delivered', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const texts = Array.from({ length: 300 }, (_, n) => listChanged(n < 44 ? 'tools' : 'prompts'))
  await say(client, texts.join(''))
  const stream = await client.listen()
  const messages = await stream.first(256)
  assert.is(messages.length, 256)
  assert.is(messages[0]?.['method'], 'notifications/prompts/list_changed')
  const lost = gateway.lines.find(({ message }) => message === 'events lost')
  assert.is(lost?.['events'], 44)
})

streams('a silent stream gets comments', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')], limits: 'keepAlive: 40ms' })
  const stream = await client.listen()
  const answer = await under(client, 1)
  for (const silent of [stream, answer])
    await silent.until(
      ({ events }) => events.filter(({ comment }) => comment === 'keep-alive').length > 1,
      'comments',
    )
  assert.equal(answer.messages.length, 1)
})

streams('a silent call gets an event id to resume with, in versions that support it', async () => {
  const version = '2025-11-25'
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] }, { version })
  const answer = await client.call('say', { text: '' })
  const [session] = sessionsOf(gateway)
  await until(() => session?.calls.size === 1, 'the call')
  // The head is sent after its delay, then the silence starts.
  session?.sweep(performance.now() + HEAD_DELAY_MS)
  await answer.head()
  assert.equal(answer.events, [])
  session?.sweep(performance.now() + MCP_LIMITS.keepAlive)
  await answer.until(({ events }) => events.some(({ id }) => id !== ''), 'a priming event')
  const [prime] = answer.events
  assert.equal(prime?.data, '')
  answer.raw.destroy()
  const rest = await client.listen(prime!.id)
  const number = (await client.textOf('line')).match(/"id":(\d+)/)?.[1]
  await say(client, ANSWER.replace('$ID', String(Number(number) - 1)))
  await rest.whole()
  assert.is(rest.messages.at(-1)?.['id'], 1)
})

streams.run()
