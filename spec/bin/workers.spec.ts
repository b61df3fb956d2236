// The built gateway with several workers: which worker serves, what happens when one dies, and how all of them stop.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { senderTo } from '../support/admin.ts'
import type { Backend } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { isAlive, untilForked, untilGone, workersOf } from '../support/processes.ts'
import { Program } from '../support/program.ts'
import type { RawClient } from '../support/raw-client.ts'

const WAIT_MS = 30_000
const WORKERS = 2

const workers = suite('gateway process, several workers')
const stage = new Stage()
workers.after.each(() => stage.clear())

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

interface Started {
  readonly program: Program
  readonly port: number
  readonly folder: Folder
  readonly backend: Backend
  /** The configuration file; specs change the body of /direct. */
  readonly text: (body: string) => string
}

/** Like `launch`, and waits until all workers serve. */
async function start(...args: Parameters<typeof launch>): Promise<Started> {
  const started = await launch(...args)
  await started.program.prints(/started workers/)
  return started
}

/** `more` contains further routes in YAML. Streams of the backend end with its `release`. */
async function launch(
  more = '',
  env: Record<string, string> = {},
  script = [
    { wait: /\r\n\r\n/ },
    { send: `${HEAD}3\r\none\r\n` },
    { hold: true } as const,
    { send: '3\r\ntwo\r\n0\r\n\r\n' },
  ],
): Promise<Started> {
  const port = await freePort()
  const folder = stage.add(new Folder())
  const backend = await stage.backend(script)
  const text = (body: string): string => `config: { workers: ${WORKERS} }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
- matches: [{ path: { exact: /direct } }]
  policies: { directResponse: { status: 200, body: ${body} } }
${more}
- backends: [{ host: 127.0.0.1:${backend.port} }]
`
  const program = new Program('gateway', ['-f', folder.write('c.yaml', text('hi'))], env)
  stage.add({ close: () => program.kill() })
  return { program, port, folder, backend, text }
}

async function ask(port: number): Promise<string> {
  const client = await stage.client({ host: '127.0.0.1', port })
  client.send('GET /direct HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  return (await client.untilClosed()).split('\r\n\r\n')[1] ?? ''
}

/** A stream that has started. */
async function stream(port: number): Promise<RawClient> {
  const client = await stage.client({ host: '127.0.0.1', port })
  client.send('GET /stream HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/one/, WAIT_MS)
  return client
}

/** Kills the first new worker after it serves and before the second serves. */
async function killFirstBeforeSecondServes(
  program: Program,
  old: readonly number[],
): Promise<void> {
  const forked = await untilForked(program.pid, old.length + WORKERS)
  const [first, second] = forked.filter((pid) => !old.includes(pid))
  process.kill(second!, 'SIGSTOP')
  await program.prints(new RegExp(`worker started .*pid=${first}\n`))
  process.kill(first!, 'SIGKILL')
  await untilGone([first!])
  process.kill(second!, 'SIGCONT')
}

/** Every worker slot has a running worker. */
function isWhole(program: Program): boolean {
  const pids = [...workersOf(program).values()]
  return pids.length === WORKERS && pids.every(isAlive)
}

workers(
  'connections go to all workers in turn, and a change of the file reaches all of them',
  async () => {
    const { program, port, folder, text } = await start()
    assert.equal(
      [...workersOf(program).keys()].toSorted((a, b) => a - b),
      [1, 2],
    )
    for (let i = 0; i < 20; i++) assert.is(await ask(port), 'hi')
    const served = (): string[] => program.stdout.match(/info\trequest .* worker=\d\n/g) ?? []
    await program.prints(() => served().length === 20)
    assert.is(served().filter((line) => line.endsWith('worker=1\n')).length, 10)
    folder.write('c.yaml', text('changed'))
    await program.prints(/reloaded config reason="file change" generation=2/)
    for (let i = 0; i < WORKERS; i++) assert.is(await ask(port), 'changed')
    folder.write('c.yaml', text('{}'))
    await program.prints(/Failed to reload config kept=2/)
    for (let i = 0; i < WORKERS; i++) assert.is(await ask(port), 'changed')
    folder.write('c.yaml', text('third').replace('workers: 2', 'workers: 3'))
    await program.prints(/restart to apply its change\n[^]*generation=3/)
    for (let i = 0; i < WORKERS; i++) assert.is(await ask(port), 'third')
    assert.is(program.stdout.match(/reloaded config/g)?.length, 2)
  },
)

workers('a killed worker loses its own streams, and is replaced', async () => {
  const { program, port, backend } = await start()
  const streams = [await stream(port), await stream(port)]
  const before = workersOf(program)
  // As when the process group gets a signal: only the supervisor handles it.
  for (const pid of before.values())
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)
      process.kill(pid, signal)
  process.kill(before.get(1)!, 'SIGKILL')
  await program.prints(/error\tworker died worker=1 how="signal SIGKILL"/)
  await program.prints(() => workersOf(program).get(1) !== before.get(1))
  assert.is(workersOf(program).get(2), before.get(2))
  // Each worker had one of the streams.
  await deadline(
    Promise.race(streams.map((client) => client.untilClosed(WAIT_MS))),
    WAIT_MS,
    'the stream of the dead to end',
  )
  const left = streams.filter(({ end }) => end === 'open')
  assert.is(left.length, 1)
  backend.release()
  backend.release()
  await left[0]!.until(/two\r\n0\r\n\r\n$/)
  for (let i = 0; i < 4; i++) assert.is(await ask(port), 'hi')
  assert.not.match(program.stdout, /shutting down/)
})

workers(
  'a worker that dies while another still starts is replaced, also in a restart',
  async () => {
    const { program } = await launch()
    await killFirstBeforeSecondServes(program, [])
    await program.prints(/started workers/)
    await program.prints(() => isWhole(program))
    const before = [...workersOf(program).values()]
    program.signal('SIGUSR2')
    await killFirstBeforeSecondServes(program, before)
    await program.prints(/restarted workers/)
    await untilGone(before)
    await program.prints(() => isWhole(program))
  },
)

workers(
  'a worker that dies while the file is invalid is replaced with the configuration in force',
  async () => {
    const { program, port, folder, text } = await start()
    folder.write('c.yaml', text('second').replace('workers: 2', 'workers: 3'))
    await program.prints(/generation=2/)
    folder.write('c.yaml', text('{}'))
    await program.prints(/Failed to reload config kept=2/)
    for (const pid of workersOf(program).values()) process.kill(pid, 'SIGKILL')
    for (let i = 0; i < WORKERS; i++) assert.is(await ask(port), 'second')
    await program.prints(() => isWhole(program))
  },
)

workers('SIGTERM lets all workers finish; no process remains and the exit code is 0', async () => {
  const probe = await freePort()
  const { program, port, backend } = await start('', { READINESS_ADDR: `127.0.0.1:${probe}` })
  const ready = senderTo(probe)
  assert.is((await ready('GET /healthz/ready')).status, 200)
  const streams = [await stream(port), await stream(port)]
  program.signal('SIGTERM')
  await program.prints(/shutting down signal=SIGTERM\n/)
  const drains = await ready('GET /healthz/ready')
  assert.equal([drains.status, drains.text], [503, 'not ready: draining\n'])
  for (const client of streams) {
    backend.release()
    assert.is(client.end, 'open')
  }
  for (const client of streams) await client.until(/two\r\n0\r\n\r\n$/)
  assert.is(await program.exit(), 0)
  await untilGone(workersOf(program).values())
  assert.is(program.stderr, '')
})

workers(
  'SIGTERM while one worker still starts lets the other finish, and the exit code is 0',
  async () => {
    const { program, port, backend } = await launch()
    const [first, second] = await untilForked(program.pid, WORKERS)
    process.kill(second!, 'SIGSTOP')
    await program.prints(new RegExp(`worker started .*pid=${first}\n`))
    const client = await stream(port)
    program.signal('SIGTERM')
    await program.prints(/shutting down signal=SIGTERM\n/)
    process.kill(second!, 'SIGCONT')
    backend.release()
    await client.until(/two\r\n0\r\n\r\n$/)
    assert.is(await program.exit(), 0)
    await untilGone([first!, second!])
    assert.is(program.stderr, '')
  },
)

workers('a second signal ends all workers at once', async () => {
  const { program, port } = await start()
  await stream(port)
  program.signal('SIGINT')
  await program.prints(/shutting down signal=SIGINT\n/)
  program.signal('SIGINT')
  assert.is(await program.exit(), 0)
  await untilGone(workersOf(program).values())
})

workers('no worker and no child outlives the supervisor', async () => {
  const { program, port } = await start(`- matches: [{ path: { exact: /mcp } }]
  backends: [{ mcp: { targets: [{ name: a, stdio: { cmd: node, args: [-e, 'setInterval(() => {}, 1e6)'] } }] } }]`)
  const client = await stage.client({ host: '127.0.0.1', port })
  const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
  client.send(
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await program.prints(/started child/)
  const pid = Number(/started child .*pid=(\d+)/.exec(program.stdout)?.[1])
  assert.ok(isAlive(pid))
  program.signal('SIGKILL')
  await untilGone([...workersOf(program).values(), pid])
})

workers('a port in use is logged once, and ends all processes', async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  stage.add({ close: () => holder.close() })
  await deadline(once(holder, 'listening'), WAIT_MS, 'a port')
  const { port } = holder.address() as AddressInfo
  const text = `config: { workers: 3 }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 204 } } }]`
  const program = new Program('gateway', ['-c', text])
  stage.add({ close: () => program.kill() })
  assert.is(await program.exit(), 1)
  const message = `cannot listen on 127.0.0.1:${port} (gateways.default.port): it is in use by another process`
  assert.is(program.stderr, `Error: ${message}\n`)
})

workers('a configuration from standard input reaches all workers', async () => {
  const port = await freePort()
  const text = `config: { workers: 2 }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 200, body: piped } } }]`
  const program = new Program('gateway', ['-f', '-'], {}, text)
  stage.add({ close: () => program.kill() })
  await program.prints(/started workers/)
  for (let i = 0; i < WORKERS; i++) assert.is(await ask(port), 'piped')
})

workers.run()
