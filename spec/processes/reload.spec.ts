// A configuration that changes while requests run: what becomes new, what stays, and that a refused one changes nothing.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Config } from '../../lib/config/config-types.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'
import { Reloading } from '../support/reloading.ts'
import { CERT, KEY } from '../support/tls-pair.ts'

const WAIT_MS = 30_000
const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]
const HELD: Step[] = [{ wait: HEAD }, { hold: true }, { send: OK }, { again: true }]

const reload = suite('process/reload')
const stage = new Stage()
reload.after.each(() => stage.clear())

async function start(text: string): Promise<Reloading> {
  return stage.add(await Reloading.start(text))
}

async function connect({ port }: Reloading): Promise<RawClient> {
  return stage.client({ port, host: '127.0.0.1' })
}

/** One exchange on a connection that stays open: status and body. */
async function ask(client: RawClient, path: string): Promise<string> {
  client.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  const text = await client.until(/\r\n\r\n[^\r\n]+\n?$/)
  client.take(text.length)
  return text.replace(/^HTTP\/1\.1 (\d+)[^]*\r\n\r\n/, '$1 ').trimEnd()
}

/** Routes by prefix, each with its own response. */
function answers(routes: Record<string, string>): string {
  return `routes:\n${Object.entries(routes)
    .map(
      ([name, body]) =>
        `- { name: ${name}, matches: [{ path: { pathPrefix: /${name} } }], policies: { directResponse: { status: 200, body: ${body} } } }\n`,
    )
    .join('')}`
}

reload('applies new routes and drops removed ones, on an open connection', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const client = await connect(gateway)
  assert.is(await ask(client, '/a'), '200 one')
  assert.is(await ask(client, '/b'), '404 route not found')
  await gateway.change(answers({ b: 'two' }))
  assert.is(await ask(client, '/a'), '404 route not found')
  assert.is(await ask(client, '/b'), '200 two')
  assert.is(client.end, 'open')
  const [line] = await gateway.logged('reloaded config')
  assert.is(line?.['reason'], 'file change')
  assert.is(line?.['generation'], 2)
})

reload('a running request keeps the route and the policies that it began with', async () => {
  const backend = await stage.backend(HELD)
  const marked = (name: string): string =>
    routeTo(backend, `responseHeaderModifier: { set: { x-plan: ${name} } }`)
  const gateway = await start(marked('old'))
  const client = await connect(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await backend.until((text) => HEAD.test(text))
  await gateway.change(marked('new'))
  backend.release()
  assert.match(await client.until(/ok$/), /\r\nx-plan: old\r\n/)
  client.take(client.text.length)
  backend.release()
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  assert.match(await client.until(/ok$/), /\r\nx-plan: new\r\n/)
  assert.is(backend.connections.length, 1)
})

reload('connections to backends that stay are reused', async () => {
  const backend = await stage.backend(SERVE)
  const gateway = await start(routeTo(backend))
  const client = await connect(gateway)
  assert.is(await ask(client, '/'), '200 ok')
  await gateway.change(routeTo(backend, 'timeout: { requestTimeout: 9s }'))
  assert.is(await ask(client, '/'), '200 ok')
  assert.is(backend.connections.length, 1)
  assert.is(backend.connections[0]?.end, 'open')
})

reload(
  'closes idle connections to removed backends at once, and busy ones when they are done',
  async () => {
    const idle = await stage.backend(SERVE)
    const busy = await stage.backend(HELD)
    const host = ({ port }: { port: number }): string => `[{ host: 127.0.0.1:${port} }]`
    const gateway = await start(`routes:
- { name: idle, matches: [{ path: { exact: /idle } }], backends: ${host(idle)} }
- { name: busy, backends: ${host(busy)} }
`)
    assert.is(await ask(await connect(gateway), '/idle'), '200 ok')
    const client = await connect(gateway)
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await busy.until((text) => HEAD.test(text))
    await gateway.change(answers({ a: 'one' }))
    await idle.connections[0]?.untilClosed()
    assert.is(busy.connections[0]?.end, 'open')
    busy.release()
    await client.until(/ok$/)
    await busy.connections[0]?.untilClosed()
  },
)

reload(
  'a refused configuration changes nothing, and every problem is logged with its position',
  async () => {
    const gateway = await start(answers({ a: 'one' }))
    const file = gateway.folder.at('config.yaml')
    const client = await connect(gateway)
    const problems = await gateway.refusal(
      'routs: []\nroutes: [{ backends: [{ host: nowhere }] }]\n',
    )
    assert.equal(problems, [
      `${file}:2:1: routs: unknown field 'routs', did you mean 'routes'?`,
      `${file}:3:31: routes[0].backends[0].host: got 'nowhere', expected host:port, [ipv6]:port or unix:/path`,
    ])
    assert.equal(gateway.reloader.refusal?.problems, problems)
    const [line] = await gateway.logged('Failed to reload config')
    assert.equal([line?.['level'], line?.['kept']], ['error', 1])
    assert.is(gateway.generation, 1)
    assert.is(await ask(client, '/a'), '200 one')
    await gateway.change(answers({ a: 'two' }))
    assert.is(gateway.reloader.refusal, null)
    assert.is(gateway.generation, 2)
    assert.is(await ask(client, '/a'), '200 two')
  },
)

reload('redacts a credential in a logged problem', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const host = 'https://u:s3cret@h/?token=s3cret'
  const problems = await gateway.refusal(`routes: [{ backends: [{ host: '${host}' }] }]\n`)
  assert.match(problems.join(), 'https://<redacted>@h/?token=<redacted>')
  assert.not.match(JSON.stringify([problems, gateway.reloader.refusal]), 's3cret')
})

reload(
  'refuses a configuration whose file is missing, and loads it when the file is back',
  async () => {
    const gateway = await start(answers({ a: 'one' }))
    gateway.folder.remove('config.yaml')
    await gateway.logged('Failed to reload config')
    assert.match(gateway.reloader.refusal?.problems[0] ?? '', /cannot read the configuration file/)
    await gateway.change(answers({ a: 'two' }))
    assert.is(await ask(await connect(gateway), '/a'), '200 two')
  },
)

reload('logs that config: needs a restart, and does not apply it', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const { process, backend } = gateway.gateway.plan.config
  await gateway.change(
    `config: { connectionTerminationDeadline: 1s, backend: { poolMaxSize: 1 } }\n${answers({ a: 'two' })}`,
  )
  const message = 'config: is read at start only; restart to apply its change'
  assert.is((await gateway.logged(message))[0]?.['level'], 'warn')
  assert.is(gateway.gateway.plan.config.process, process)
  assert.is(gateway.gateway.plan.config.backend, backend)
  assert.is(await ask(await connect(gateway), '/a'), '200 two')
  // The warning repeats as long as the file differs.
  await gateway.change(`config: { connectionTerminationDeadline: 1s }\n${answers({ a: 'one' })}`)
  await gateway.logged(message, 2)
  await gateway.change(answers({ a: 'two' }))
  assert.is(gateway.lines.filter((line) => line.message === message).length, 2)
})

reload('ends with the newest of several changes during a load', async () => {
  const gateway = await start(answers({ a: 'one' }))
  let times = 0
  gateway.whileLoading = () => {
    if (times++ > 0) return
    gateway.folder.replace('config.yaml', gatewayText(answers({ a: 'three' })))
    gateway.reloader.reload('SIGHUP')
    gateway.reloader.reload('SIGHUP')
  }
  await gateway.change(answers({ a: 'two' }))
  await gateway.logged('reloaded config', 2)
  assert.is(await ask(await connect(gateway), '/a'), '200 three')
  assert.is(times, 2)
  assert.is(gateway.generation, 3)
})

reload('notices a change of the file during a load without a signal', async () => {
  const gateway = await start(answers({ a: 'one' }))
  let times = 0
  gateway.whileLoading = () => {
    if (times++ === 0) gateway.folder.replace('config.yaml', gatewayText(answers({ a: 'three' })))
  }
  gateway.folder.replace('config.yaml', gatewayText(answers({ a: 'two' })))
  gateway.reloader.reload('SIGHUP')
  await gateway.logged('reloaded config', 2)
  assert.is(await ask(await connect(gateway), '/a'), '200 three')
})

reload('loads a configuration again when a missing file appears', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const { folder } = gateway
  const secure =
    'gateways: { default: { port: ${PORT}, address: 127.0.0.1, tls: { cert: cert.pem, key: key.pem } } }\n'
  const problems = await gateway.refusal(secure + answers({ a: 'two' }))
  assert.is(problems.length, 2)
  folder.write('cert.pem', CERT)
  folder.write('key.pem', KEY)
  await gateway.logged('reloaded config')
  assert.is(gateway.generation, 2)
})

reload('a plan that cannot be built changes nothing', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const { config } = gateway.gateway.plan
  // No configuration that passes the checks does this; an internal error might.
  const broken = { ...config, gateways: [{ ...config.gateways[0]!, listeners: null }] }
  const failed = await deadline(
    gateway.gateway.reload(broken as unknown as Config).then(
      () => 'taken',
      () => 'refused',
    ),
    WAIT_MS,
    'a reload',
  )
  assert.is(failed, 'refused')
  assert.is(gateway.generation, 1)
  assert.is(await ask(await connect(gateway), '/a'), '200 one')
})

reload('a signal before the gateway serves takes effect when it does', async () => {
  const gateway = await start(answers({ a: 'one' }))
  const before = process.listeners('SIGHUP')
  let serves = (): void => {}
  const serving = new Promise<void>((resolve) => (serves = resolve))
  gateway.reloader.startWithSignal(Date.now(), serving)
  const [heeds] = process.listeners('SIGHUP').filter((one) => !before.includes(one))
  stage.add({ close: () => process.off('SIGHUP', heeds!) })
  heeds!('SIGHUP')
  assert.is(gateway.generation, 1)
  serves()
  const [line] = await gateway.logged('reloaded config')
  assert.is(line?.['reason'], 'SIGHUP')
})

reload('loads nothing after close', async () => {
  const gateway = await start(answers({ a: 'one' }))
  let times = 0
  gateway.whileLoading = () => void times++
  gateway.reloader.reload('SIGHUP')
  await gateway.stop()
  gateway.reloader.reload('SIGHUP')
  assert.is(times, 0)
  assert.is(gateway.generation, 1)
})

function gatewayText(routes: string): string {
  return 'gateways: { default: { port: ${PORT}, address: 127.0.0.1 } }\n' + routes
}

reload.run()
