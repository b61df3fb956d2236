// The health of backends: the last connection error, cooldowns of providers, and faults of MCP targets.

import { unlinkSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BackendHealthView } from '../../../lib/core/runtime-views.ts'
import { McpClient, mcpText, puppet, server } from '../../forward/mcp/mcp-client.ts'
import { Backend } from '../../support/backend.ts'
import type { Step } from '../../support/backend.ts'
import { deadline } from '../../support/deadline.ts'
import { Folder } from '../../support/folder.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answerOk, http2Backend } from '../../support/http2-backend.ts'
import { answers, chatOf, LlmBackend } from '../../support/llm-backend.ts'
import { chatAsking, post } from '../../support/llm/asking.ts'
import { CERT, KEY } from '../../support/tls-pair.ts'

const health = suite('config/backend health')
const stage = new Stage()
health.after.each(() => stage.clear())

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: /\r\n\r\n/ }, { send: OK }, { again: true }]

function viewOf({ plan }: RunningGateway): BackendHealthView {
  return plan.health.describe('gateway/default/default/all/backend0')
}

function toHost(host: string, policies = ''): string {
  return `routes: [{ name: all, backends: [{ host: "${host}" }], policies: { ${policies} } }]\n`
}

async function ask(gateway: RunningGateway): Promise<string> {
  const client = await stage.client(gateway)
  client.send(GET)
  return client.until(/\r\n\r\n[^]+$/)
}

health('reports a host that refuses connections until it accepts one', async () => {
  const folder = stage.add(new Folder())
  const path = `${folder.path}/s`
  const gateway = await stage.gateway(toHost(`unix:${path}`))
  assert.equal(viewOf(gateway), { pool: { open: 0, idle: 0, waiting: 0 }, problems: [] })
  assert.match(await ask(gateway), '503')
  assert.equal(viewOf(gateway).problems, [`cannot connect to unix:${path}: no such socket`])
  stage.add(await Backend.startAt({ path }, SERVE))
  assert.match(await ask(gateway), '200')
  assert.equal(viewOf(gateway), { pool: { open: 1, idle: 1, waiting: 0 }, problems: [] })
})

health('stops reporting a host that answers on a kept connection', async () => {
  const folder = stage.add(new Folder())
  const path = `${folder.path}/s`
  const held: Step[] = [{ wait: /\r\n\r\n/ }, { hold: true }, { send: OK }]
  const backend = stage.add(await Backend.startAt({ path }, held))
  const gateway = await stage.gateway(toHost(`unix:${path}`))
  const client = await stage.client(gateway)
  client.send(GET)
  await backend.until((text) => text !== '')
  unlinkSync(path)
  assert.match(await ask(gateway), '503')
  assert.is(viewOf(gateway).problems.length, 1)
  backend.release()
  await client.until(/ok$/)
  assert.equal(viewOf(gateway), { pool: { open: 1, idle: 1, waiting: 0 }, problems: [] })
})

health('stops reporting a host that answers on an HTTP/2 session', async () => {
  const { port } = await http2Backend(stage, answerOk)
  const gateway = await stage.gateway(toHost(`127.0.0.1:${port}`, 'backendTLS: { insecure: true }'))
  assert.match(await ask(gateway), '200')
  // The backend does not serve HTTP/1, which an upgrade needs.
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n')
  assert.match(await client.until(/\r\n\r\n[^]+$/), '503')
  assert.is(viewOf(gateway).problems.length, 1)
  assert.match(await ask(gateway), '200')
  assert.equal(viewOf(gateway).problems, [])
})

health('reports a host whose certificate is not trusted', async () => {
  const backend = stage.add(await Backend.startAt({ tls: { cert: CERT, key: KEY } }, SERVE))
  const host = `127.0.0.1:${backend.port}`
  const gateway = await stage.gateway(toHost(host, 'backendTLS: {}'))
  assert.match(await ask(gateway), '503')
  assert.match(viewOf(gateway).problems[0]!, `cannot connect to ${host}: `)
  const other = await stage.gateway(toHost(host, 'backendTLS: { insecure: true }'))
  assert.match(await ask(other), '200')
  assert.equal(viewOf(other).problems, [])
})

health('reports a provider that failed while it is in cooldown', async () => {
  const down = stage.add(await LlmBackend.start(answers.fails(500)))
  const up = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const group = (name: string, { port }: LlmBackend) =>
    `{ providers: [{ name: ${name}, provider: { openAI: {} }, hostOverride: "127.0.0.1:${port}" }] }`
  const gateway = await stage.gateway(
    `routes: [{ name: all, backends: [{ ai: { groups: [${group('one', down)}, ${group('two', up)}] } }] }]`,
  )
  assert.equal(viewOf(gateway).problems, [])
  assert.is((await post(gateway, chatAsking())).status, 200)
  const { pool, problems } = viewOf(gateway)
  assert.ok(pool!.open >= 1)
  assert.is(problems.length, 1)
  assert.match(problems[0]!, /^provider 'one' failed: cooldown, \d+ s left$/)
})

health('reports MCP targets that did not start until they do', async () => {
  const dead = '{ name: dead, stdio: { cmd: no-such-program-here } }'
  const gateway = await stage.gateway(mcpText({ targets: [server('one'), dead] }))
  const client = await McpClient.open(stage, gateway)
  const [group] = gateway.live.groups
  assert.is(group!.faults.length, 1)
  assert.is(group!.faults[0]!.target, 'dead')
  assert.match(group!.faults[0]!.reason, /could not be started/)
  await deadline(client.delete(), 30_000, 'the end of a session')
  assert.is(gateway.live.groups[0]!.faults.length, 1)
})

health('stops reporting a target that works again', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [puppet('doll')] }))
  const client = await McpClient.open(stage, gateway)
  assert.equal(gateway.live.groups[0]!.faults, [])
  await (await client.call('say', { code: 3 })).whole()
  assert.match(gateway.live.groups[0]!.faults[0]!.reason, 'doll')
  await McpClient.open(stage, gateway)
  assert.equal(gateway.live.groups[0]!.faults, [])
})

health('stops reporting a target after any response to any client', async () => {
  const gateway = await stage.gateway(mcpText({ targets: [puppet('doll')] }))
  const steady = await McpClient.open(stage, gateway)
  const other = await McpClient.open(stage, gateway)
  await (await other.call('say', { code: 3 })).whole()
  assert.is(gateway.live.groups[0]!.faults.length, 1)
  await (await steady.ask('ping')).whole()
  assert.equal(gateway.live.groups[0]!.faults, [])
})

health('does not report a target that refuses a client', async () => {
  const refusal = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno'
  const refusing: Step[] = [{ wait: /\r\n\r\n[^]+/ }, { send: refusal }, { again: true }]
  const remote = stage.add(await Backend.start(refusing))
  const host = `http://127.0.0.1:${remote.port}/mcp`
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "${host}" } }`] }),
  )
  const answer = await (await new McpClient(stage, gateway).initialize()).whole()
  assert.is(answer.status, 401)
  assert.equal(gateway.live.groups[0]!.faults, [])
})

health('reports a target that fails by itself, until it refuses a client', async () => {
  const failure = 'HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno'
  const refusal = failure.replace('500', '403')
  const ask: Step = { wait: /\r\n\r\n[^]+/ }
  const script: Step[] = [ask, { send: failure }, ask, { send: refusal }]
  const remote = stage.add(await Backend.start(script))
  const host = `http://127.0.0.1:${remote.port}/mcp`
  const gateway = await stage.gateway(
    mcpText({ targets: [`{ name: far, mcp: { host: "${host}" } }`] }),
  )
  await (await new McpClient(stage, gateway).initialize()).whole()
  const [fault] = gateway.live.groups[0]!.faults
  assert.equal(fault, { target: 'far', reason: "target 'far' answered 500" })
  await (await new McpClient(stage, gateway).initialize()).whole()
  assert.equal(gateway.live.groups[0]!.faults, [])
})

health.run()
