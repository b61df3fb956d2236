// Clients that do not read their responses: the queued bytes are bounded, and no other client waits.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_STREAM_QUEUE_BYTES } from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import { begin, beginOpenly, McpClient, puppet, sessionsOf, textIn } from '../mcp-client.ts'
import type { Answer } from '../mcp-client.ts'
import { until } from '../stdio/owner.ts'

const slow = suite('mcp/session/slow-readers')
const stage = new Stage()
slow.after.each(() => stage.clear())

/** More than the kernel buffers for an unread socket. */
const PIECES = 192
const PIECE_BYTES = 65_536

const BIG_BYTES = 12_000_000

/** A request whose response is not read yet. */
async function unread(
  client: McpClient,
  tool: string,
  given: Record<string, unknown>,
): Promise<Answer> {
  const answer = await client.call(tool, given, { _meta: { progressToken: 1 } })
  answer.raw.socket.pause()
  return answer
}

slow('an unread call delays only its own session, within a bound', async () => {
  const [gateway, one] = await beginOpenly(stage, { targets: [puppet('one')] })
  const two = await McpClient.open(stage, gateway)
  const answer = await unread(one, 'pour', { count: PIECES, bytes: PIECE_BYTES })
  const [session] = sessionsOf(gateway)
  const queued = (): number => [...session!.calls][0]?.channel.unsent ?? 0
  await until(() => queued() > MAX_STREAM_QUEUE_BYTES, 'a full queue')
  const waiting = await one.call('line')
  for (let i = 0; i < 3; i++) assert.match(await two.textOf('line'), '"name":"line"')
  assert.is(waiting.status, 0)
  // One more read of the child's output may have been in progress.
  assert.ok(queued() < MAX_STREAM_QUEUE_BYTES + 4 * PIECE_BYTES, `${queued()} bytes wait`)
  answer.raw.socket.resume()
  await answer.whole()
  assert.equal(
    answer.messages.map(({ params }) => (params as { n: number } | undefined)?.n),
    [...Array(PIECES).keys(), undefined],
  )
  await waiting.whole()
})

slow('an unread answer delays the next answers of its session', async () => {
  const [gateway, one] = await begin(stage)
  const two = await McpClient.open(stage, gateway)
  const first = await unread(one, 'big', { bytes: BIG_BYTES })
  await until(() => gateway.lines.length > 0 && first.raw.socket.bytesRead > 0, 'its beginning')
  const second = await unread(one, 'big', { bytes: BIG_BYTES })
  for (let i = 0; i < 3; i++) await two.textOf('echo')
  assert.is(second.raw.socket.bytesRead, 0)
  for (const { raw } of [first, second]) raw.socket.resume()
  for (const answer of [first, second])
    assert.is(textIn((await answer.whole()).messages).length, BIG_BYTES)
})

slow('a client that disconnects with an unread answer delays no session', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const given = { count: PIECES, bytes: PIECE_BYTES }
  const [pouring, big] = [await unread(client, 'pour', given), await unread(client, 'pour', given)]
  const waiting = await client.call('line')
  pouring.raw.destroy()
  big.raw.destroy()
  await waiting.whole()
})

slow('a new reader of the stream resumes the session', async () => {
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] })
  const answer = await unread(client, 'pour', { count: PIECES, bytes: PIECE_BYTES })
  const [session] = sessionsOf(gateway)
  const isFull = (): boolean =>
    [...session!.calls].some(({ channel }) => channel.unsent > MAX_STREAM_QUEUE_BYTES)
  await until(isFull, 'a full queue')
  const [call] = session!.calls
  let last = 0
  while (call!.channel.hasSent(last + 1)) last++
  const rest = await client.listen(`${call!.channel.number}-${last}`)
  await rest.whole()
  assert.is(rest.messages.at(-1)?.['id'], 1)
  answer.raw.destroy()
})

slow('a stand-alone stream that is not read is cut, and calls go on', async () => {
  const [gateway, client] = await begin(stage, { targets: [puppet('one')] })
  const stream = await client.listen()
  stream.raw.socket.pause()
  const method = 'notifications/tools/list_changed'
  const given = { count: PIECES, bytes: PIECE_BYTES, method }
  await (await client.call('pour', given)).whole()
  const cut = (): boolean =>
    gateway.lines.some((line) => line['http.method'] === 'GET' && line['outcome'] === 'idle')
  await until(cut, 'the cut')
  stream.raw.socket.resume()
  await stream.raw.untilClosed()
  const seen = stream.events.at(-1)!.id
  const rest = await client.listen(seen)
  const [first] = await rest.first(1)
  assert.ok((first!['params'] as { n: number }).n > 150)
  const lost = gateway.lines.find(({ message }) => message === 'events lost')
  assert.ok(Number(lost?.['events']) > 0)
})

slow.run()
