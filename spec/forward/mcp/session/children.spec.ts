// Children that die or misbehave during a session: the errors that clients get, and the restarts.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_RESTARTS,
  RESTART_DELAYS_MS,
  RESTARTS_RESET_MS,
} from '../../../../lib/forward/mcp/mcp-bounds.ts'
import { Stage } from '../../../support/gateway.ts'
import type { RunningGateway } from '../../../support/gateway.ts'
import { begin, McpClient, mcpText, puppet, textIn } from '../mcp-client.ts'
import type { Answer, Json } from '../mcp-client.ts'
import { isRunning, until } from '../stdio/owner.ts'

const children = suite('mcp/session/children')
const stage = new Stage()
children.after.each(() => stage.clear())

/** The gateway's clock, which a test can advance or stop. */
const now = performance.now.bind(performance)
let ahead = 0
let stoodAt: number | null = null
performance.now = () => (stoodAt ?? now()) + ahead
children.after.each(() => void (stoodAt = null))
children.after(() => void (performance.now = now))

interface Failure {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

async function failure(answer: Answer): Promise<Failure> {
  await answer.whole()
  return (answer.messages.at(-1) ?? (await answer.only()))['error'] as Failure
}

function pidsOf({ lines }: RunningGateway): number[] {
  return lines.flatMap(({ message, pid }) => (message === 'started child' ? [Number(pid)] : []))
}

children('a killed child fails its calls at once, with its name and signal', async () => {
  const [gateway, client] = await begin(stage)
  const answers = [await client.call('slow'), await client.call('slow', { ms: 60_000 })]
  const pid = Number(await client.textOf('pid'))
  process.kill(pid, 'SIGKILL')
  for (const answer of answers)
    assert.equal(await failure(answer), {
      code: -32000,
      message: "target 'one' was killed by SIGKILL",
      data: { target: 'one' },
    })
  const down = gateway.lines.find(({ message }) => message === 'target down')
  assert.is(down?.['reason'], "target 'one' was killed by SIGKILL")
  assert.is.not(await client.textOf('pid'), String(pid))
})

children('a child that exits during a call fails it with its exit code', async () => {
  const [, client] = await begin(stage)
  const { message } = await failure(await client.call('crash', { code: 9 }))
  assert.is(message, "target 'one' exited with code 9")
})

children('messages that a child sent before it died are delivered', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
  const answer = await client.call('say', { text: `${note}{"jsonrpc":"2.0","id":$I`, code: 4 })
  const { message } = await failure(answer)
  assert.is(message, "target 'one' exited with code 4")
  assert.is(answer.messages.length, 2)
})

children('a restarted child gets the setup of the client again', async () => {
  const [gateway, client] = await begin(stage)
  assert.ok('result' in (await (await client.ask('logging/setLevel', { level: 'debug' })).only()))
  for (const uri of ['test://one', 'test://two'])
    await (await client.ask('resources/subscribe', { uri })).only()
  await (await client.ask('resources/unsubscribe', { uri: 'test://two' })).only()
  const stream = await client.listen()
  await failure(await client.call('crash'))
  const heard = JSON.parse(await client.textOf('heard')) as Json[]
  assert.equal(heard, [{ method: 'notifications/initialized', params: {} }])
  const level = await (await client.ask('logging/setLevel', { level: 'error' })).only()
  assert.equal(level['result'], { _meta: { before: 'debug' } })
  assert.is(await client.textOf('touch', { uri: 'test://one' }), 'updated')
  assert.is(await client.textOf('touch', { uri: 'test://two' }), 'not subscribed')
  // Its lists may have changed, so the client is notified as well.
  const methods = (await stream.first(4)).map(({ method }) => method)
  assert.equal(
    new Set(methods),
    new Set([
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
    ]),
  )
  assert.is(pidsOf(gateway).length, 2)
})

children('calls during a restart wait for it, and the child is started once', async () => {
  const [gateway, client] = await begin(stage)
  await failure(await client.call('crash'))
  const answers = await Promise.all(['a', 'b', 'c'].map((text) => client.call('echo', { text })))
  const texts = await Promise.all(answers.map(async (answer) => textIn(await answer.first(1))))
  assert.equal(texts, ['a', 'b', 'c'])
  assert.is(pidsOf(gateway).length, 2)
})

children('the second restart is delayed, and the error says so', async () => {
  const [gateway, client] = await begin(stage)
  stoodAt = now()
  for (let i = 0; i < 2; i++) await failure(await client.call('crash'))
  const { message } = await failure(await client.call('echo'))
  assert.is(message, "target 'one' exited with code 3; it can be restarted in 1.0 s")
  assert.is(pidsOf(gateway).length, 2)
  ahead += 1_001
  assert.is(await client.textOf('echo', { text: 'a' }), 'a')
  assert.is(pidsOf(gateway).length, 3)
})

children('a long ready time resets the restart count', async () => {
  const [gateway, client] = await begin(stage, {
    // A connection must survive the jump of the clock.
    sections: 'frontendPolicies: { http: { headTimeout: 1h } }',
  })
  for (let i = 0; i <= MAX_RESTARTS; i++) {
    await failure(await client.call('crash'))
    ahead += RESTARTS_RESET_MS
    await client.textOf('echo', { text: 'a' })
    ahead += RESTARTS_RESET_MS
  }
  assert.is(pidsOf(gateway).length, MAX_RESTARTS + 2)
})

children('a start that the gateway refuses is not counted as a restart', async () => {
  const [gateway, client] = await begin(stage, {
    limits: 'maxChildren: 1, maxChildrenPerClient: 2',
  })
  await failure(await client.call('crash'))
  await until(() => gateway.lines.some((line) => line.message === 'child exited'), 'its end')
  const other = await McpClient.open(stage, gateway)
  // A session with a running call is not evicted.
  const running = await other.call('slow', { ms: 60_000 })
  for (let i = 0; i < MAX_RESTARTS * 2; i++) {
    const { message } = await failure(await client.call('echo'))
    const bound = '1 child processes are running (config.mcp.maxChildren)'
    assert.is(message, `target 'one' is not started: ${bound}`)
  }
  assert.not(running.isWhole)
  await other.delete()
  const exits = (): number => gateway.lines.filter((line) => line.message === 'child exited').length
  await until(() => exits() === 2, 'the end of the other')
  assert.is(await client.textOf('echo', { text: 'x' }), 'x')
})

children('a child that is restarted takes the place of an idle session', async () => {
  const [gateway, client] = await begin(stage, {
    limits: 'maxChildren: 1, maxChildrenPerClient: 2',
  })
  await failure(await client.call('crash'))
  await until(() => gateway.lines.some((line) => line.message === 'child exited'), 'its end')
  const other = await McpClient.open(stage, gateway)
  assert.is(await client.textOf('echo', { text: 'x' }), 'x')
  const answer = await (await other.ask('ping')).whole()
  assert.is(answer.status, 404)
})

children('a child that cannot be started fails the session, with its name', async () => {
  const gateway = await stage.gateway(
    mcpText({ targets: ['{ name: one, stdio: { cmd: /nowhere/at-all } }'] }),
  )
  const answer = await new McpClient(stage, gateway).initialize()
  const { error } = (await answer.only()) as { error: Failure }
  assert.is(answer.status, 500)
  assert.match(error.message, /^target 'one' could not be started: .*ENOENT/)
  assert.is(answer.header('mcp-session-id'), undefined)
})

children('a child that refuses initialize is stopped, and the client gets its error', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [puppet('one', '--greeting', 'refuse')] }))
  const answer = await new McpClient(stage, gateway).initialize()
  const { error } = (await answer.only()) as { error: Failure }
  assert.equal([error.code, error.message], [-32603, 'not now'])
  assert.is(answer.header('mcp-session-id'), undefined)
  await until(() => gateway.lines.some((line) => line.message === 'child exited'), 'its end')
})

children('incomplete and invalid lines do not disturb the session', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const text =
    'Hello!\n\n{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":99,"result":{}}\n[1]\n{"jsonrpc":"2.0","id":$ID'
  const answer = await client.call('say', { text })
  const rest = await client.call('say', { text: ',"result":{"half":true}}\n' })
  assert.equal((await answer.only())['result'], { half: true })
  await client.notify('notifications/cancelled', { requestId: 2 })
  await rest.whole()
})

children('a child that ignores the end of its stdin is killed with its descendants', async () => {
  const [, client] = await begin(stage, { targets: [puppet('one')] })
  const pids = JSON.parse(await client.textOf('stay')) as number[]
  assert.ok(pids.every(isRunning))
  assert.is((await client.delete()).status, 202)
  await until(() => !pids.some(isRunning), 'both to be killed')
})

children('too many restarts end the session, so that clients start a new one', async () => {
  const [gateway, client] = await begin(stage)
  for (let i = 0; i <= MAX_RESTARTS; i++) {
    const { message } = await failure(await client.call('crash'))
    assert.is(message, "target 'one' exited with code 3")
    ahead += RESTART_DELAYS_MS[i] ?? 0
  }
  const answer = await client.call('echo')
  assert.is((await answer.whole()).status, 404)
  assert.is(pidsOf(gateway).length, MAX_RESTARTS + 1)
  const ended = gateway.lines.find(({ message }) => message === 'session ended')
  assert.is(ended?.['reason'], "target 'one' exited with code 3")
  await McpClient.open(stage, gateway)
})

children.run()
