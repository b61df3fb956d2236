// The statistics, readiness and shutdown servers of the built gateway: their addresses, and ports in use.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { senderTo } from '../support/admin.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import { Program } from '../support/program.ts'
import { readMetrics, valueOf } from '../support/prometheus.ts'

const WAIT_MS = 30_000

const servers = suite('gateway process, admin servers')
const stage = new Stage()
servers.after.each(() => stage.clear())

interface Started {
  readonly program: Program
  readonly port: number
}

/** `config` is in the file; an undefined variable uses the file. */
async function start(config: string, env: Record<string, string | undefined>): Promise<Started> {
  const port = await freePort()
  const text = `config: { ${config} }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
- matches: [{ path: { exact: /direct } }]
  policies: { directResponse: { status: 200, body: hi } }
- backends: [{ host: 127.0.0.1:${(await stage.backend([{ hold: true }])).port} }]
`
  const program = new Program('gateway', ['-c', text], env)
  stage.add({ close: () => program.kill() })
  return { program, port }
}

servers(
  'statistics and readiness listen on the addresses of the file or the environment',
  async () => {
    const [stats, readiness] = [await freePort(), await freePort()]
    const { program, port } = await start(`statsAddr: '127.0.0.1:${stats}'`, {
      STATS_ADDR: undefined,
      READINESS_ADDR: `127.0.0.1:${readiness}`,
    })
    await program.prints(/serving statistics .*\n[^]*serving readiness .*\n[^]*started bind/)
    await senderTo(port)('GET /direct')
    const { text } = await senderTo(stats)('GET /metrics')
    assert.is(valueOf(readMetrics(text), 'gateway_requests_total', { status: '200' }), 1)
    assert.is((await senderTo(readiness)('GET /healthz/ready')).text, 'ready\n')
  },
)

servers('a configured port in use is an error; a default port in use is a warning', async () => {
  const holder = stage.add(createServer())
  holder.listen(0, '127.0.0.1')
  await deadline(once(holder, 'listening'), WAIT_MS, 'a port to hold')
  const { port } = holder.address() as { port: number }
  const address = `127.0.0.1:${port}`
  for (const [name, words] of [
    ['STATS_ADDR', 'statistics (config.statsAddr)'],
    ['READINESS_ADDR', 'readiness (config.readinessAddr)'],
  ] as const) {
    const { program } = await start('', { [name]: address })
    assert.is(await program.exit(), 1)
    const expected = `Error: cannot open ${words} on ${address}: it is in use by another process\n`
    assert.is(program.stderr, expected)
  }
})

servers('a second gateway with default ports starts, and logs a warning', async () => {
  const env = { STATS_ADDR: undefined, READINESS_ADDR: undefined }
  const first = await start('', env)
  await first.program.prints(/started bind/)
  const second = await start('', env)
  await second.program.prints(/started bind/)
  assert.match(second.program.stdout, /warn\tnot serving statistics error=.*:15020: it is in use/)
  assert.match(second.program.stdout, /warn\tnot serving readiness error=.*:15021: it is in use/)
  assert.is((await senderTo(second.port)('GET /direct')).text, 'hi')
})

servers(
  'POST /quitquitquit stops like SIGTERM; the gateway is not ready while requests finish',
  async () => {
    const [admin, readiness] = [await freePort(), await freePort()]
    const { program, port } = await start('connectionTerminationDeadline: 60s', {
      ADMIN_ADDR: `127.0.0.1:${admin}`,
      READINESS_ADDR: `127.0.0.1:${readiness}`,
    })
    await program.prints(/started bind/)
    const client = await stage.client({ port, host: '127.0.0.1' })
    client.send('GET /slow HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(async () =>
      /"path": "\/slow"/.test((await senderTo(admin)('GET /debug/tasks')).text),
    )
    const quit = await senderTo(admin)('POST /quitquitquit')
    assert.is(quit.status, 200)
    assert.is(quit.text, 'shutdown now\n')
    await program.prints(/shutting down signal=\/quitquitquit/)
    const ready = await senderTo(readiness)('GET /healthz/ready')
    assert.is(ready.status, 503)
    assert.is(ready.text, 'not ready: draining\n')
    client.destroy()
    assert.is(await program.exit(), 0)
    assert.match(program.stdout, /\tstopped\n$/)
  },
)

servers('a new log level applies from the next line', async () => {
  const admin = await freePort()
  const { program, port } = await start('', { ADMIN_ADDR: `127.0.0.1:${admin}` })
  await program.prints(/started bind/)
  await senderTo(port)('GET /direct')
  await program.prints(/http\.path=\/direct/)
  assert.not.match(program.stdout, /debug/)
  const level = 'request=off,choose=debug,accept=debug'
  assert.is(
    (await senderTo(admin)(`POST /logging?level=${level}`)).text,
    `current log level is info,${level}\n`,
  )
  await senderTo(port)('GET /direct?second')
  await program.prints(/debug\tchose route route=\S+/)
  await program.prints(/debug\tpolicy answered policy=directResponse status=200/)
  assert.is(program.stdout.split('http.path=/direct').length, 2)
})

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const latest = performance.now() + WAIT_MS
  while (!(await isTrue()))
    if (performance.now() > latest) throw new Error('the condition did not become true in time')
}

servers.run()
