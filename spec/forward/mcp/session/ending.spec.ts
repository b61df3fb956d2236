// How sessions end: after an idle time, or after the client disconnected.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MCP_LIMITS } from '../../../../lib/core/bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import type { Line } from '../../../support/gateway.ts'
import {
  begin,
  beginOpenly,
  McpClient,
  mcpText,
  puppet,
  server,
  sessionsOf,
} from '../mcp-client.ts'
import { isRunning, until } from '../stdio/owner.ts'

const ending = suite('mcp/session/ending')
const stage = new Stage()
ending.after.each(() => stage.clear())

function told({ lines }: { lines: Line[] }, message: string): Line[] {
  return lines.filter((line) => line.message === message)
}

async function reasonOf(gateway: { lines: Line[] }): Promise<unknown> {
  await until(() => told(gateway, 'session ended').length > 0, 'the end of a session')
  return told(gateway, 'session ended')[0]?.['reason']
}

async function noChildLeft(gateway: { lines: Line[] }): Promise<void> {
  const pids = told(gateway, 'started child').map(({ pid }) => Number(pid))
  assert.ok(pids.length > 0)
  await until(() => !pids.some(isRunning), 'every child to end')
}

ending('an idle session ends after its TTL, with its child', async () => {
  const [gateway, client] = await begin(stage, { limits: 'sessionTtl: 1s, goneTtl: 10s' })
  assert.is(await reasonOf(gateway), 'idle')
  await noChildLeft(gateway)
  const answer = await client.call('echo')
  assert.is((await answer.whole()).status, 404)
  assert.equal((await answer.only())['id'], 1)
})

ending('a session with a call or an open stream does not end', async () => {
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] })
  const [session] = sessionsOf(gateway)
  const { sessionTtl } = session!.group.limits
  const call = await client.call('say')
  await client.textOf('line')
  session!.sweep(performance.now() + sessionTtl * 2)
  const stream = await client.listen()
  call.raw.destroy()
  await until(() => session!.calls.size === 0, 'the end of the call')
  session!.sweep(performance.now() + sessionTtl * 2)
  assert.is(session!.state, 'open')
  assert.not.ok(stream.isWhole)
  stream.raw.destroy()
  await until(() => told(gateway, 'request').length === 5, 'the end of the stream')
  session!.sweep(performance.now() + sessionTtl * 2)
  assert.is(await reasonOf(gateway), 'idle')
})

ending('a session whose client closed its stream ends earlier', async () => {
  const [gateway, client] = await beginOpenly(stage)
  const [session] = sessionsOf(gateway)
  const { goneTtl } = session!.group.limits
  session!.sweep(performance.now() + goneTtl * 2)
  assert.is(session!.state, 'open')
  // A client that returns in time keeps its session.
  for (let i = 0; i < 2; i++) {
    const stream = await client.listen()
    session!.sweep(performance.now() + goneTtl * 2)
    stream.raw.destroy()
    await until(() => told(gateway, 'request').length === 3 + i, 'its leave')
    session!.sweep(performance.now() + goneTtl / 2)
    assert.is(session!.state, 'open')
  }
  session!.sweep(performance.now() + goneTtl * 2)
  assert.is(await reasonOf(gateway), 'the client disconnected')
  await noChildLeft(gateway)
})

ending('a client that disconnects during initialize leaves no session and no child', async () => {
  for (const targets of [
    [puppet('one', '--greeting', 'never')],
    [puppet('one', '--greeting', 'never'), server('two')],
  ]) {
    const gateway = await stage.gateway(mcpText({ targets }))
    const answer = await new McpClient(stage, gateway).initialize()
    await until(() => told(gateway, 'started child').length === targets.length, 'the children')
    answer.raw.destroy()
    assert.is(await reasonOf(gateway), 'the client disconnected before the session started')
    await noChildLeft(gateway)
    const [line] = await gateway.logged(1)
    assert.equal([line?.['http.status'], line?.['outcome']], [499, 'client_closed'])
  }
})

ending('a client that disconnects in any phase leaves no calls or channels', async () => {
  const [gateway, client] = await beginOpenly(stage, { targets: [puppet('one')] })
  const [session] = sessionsOf(gateway)
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
  const asked = await client.call('say')
  const streaming = await client.call('say', { text: note })
  await streaming.first(1)
  const listening = await client.listen()
  const head = 'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n'
  const half = await client.send('POST', `${head}content-length: 100\r\n`, '{"jsonrpc"')
  await until(() => session?.calls.size === 2, 'both calls')
  for (const { raw } of [asked, streaming, listening, half]) raw.destroy()
  const left = (): Line[] =>
    told(gateway, 'request').filter(({ outcome }) => outcome === 'client_closed')
  await until(() => left().length === 4, 'their leave')
  session!.sweep(performance.now() + 60_000)
  assert.equal(session!.counts, { calls: 0, channels: 0, unread: 0, slow: 0 })
  assert.is(session!.group.bodies.remaining, MCP_LIMITS.maxReadTogether)
  await client.delete()
  assert.equal(sessionsOf(gateway), [])
})

ending('a second DELETE, and calls after a DELETE, are harmless', async () => {
  const [gateway, client] = await begin(stage)
  const answers = await Promise.all([client.delete(), client.delete(), client.ask('ping')])
  const statuses = answers.map(({ status }) => status)
  await answers[2]!.whole()
  assert.ok(statuses.slice(0, 2).includes(202))
  assert.is((await client.delete()).status, 404)
  assert.is((await client.listen()).status, 404)
  assert.is(told(gateway, 'session ended').length, 1)
})

ending.run()
