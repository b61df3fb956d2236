// Restart of the built gateway by SIGUSR2, with one process and with several: no request is lost, streams finish in the
// old process, and a successor that cannot start changes nothing.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { senderTo } from '../support/admin.ts'
import type { Backend, Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { PemFiles } from '../support/pem-files.ts'
import { isAlive, successorsOf, untilGone, workersOf } from '../support/processes.ts'
import { Program } from '../support/program.ts'
import { SteadyLoad } from '../support/steady-load.ts'

const WAIT_MS = 30_000

const restart = suite('gateway process, restart')
const stage = new Stage()
restart.after.each(() => stage.clear())

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const STREAM: Step[] = [
  { wait: /\r\n\r\n/ },
  { send: `${HEAD}3\r\none\r\n` },
  { hold: true },
  { send: '3\r\ntwo\r\n0\r\n\r\n' },
]

interface Started {
  readonly program: Program
  readonly port: number
  readonly securePort: number
  readonly probe: number
  readonly folder: Folder
  readonly text: string
  readonly stream: Backend
}

async function start(workers: number): Promise<Started> {
  const [port, securePort, probe] = [await freePort(), await freePort(), await freePort()]
  const [folder, pem] = [stage.add(new Folder()), stage.add(new PemFiles())]
  const send = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'
  const [stream, short] = [
    await stage.backend(STREAM),
    await stage.backend([{ wait: /\r\n\r\n/ }, { send }, { again: true }]),
  ]
  const text = `config:
  workers: ${workers}
  logging: { level: 'info,request=off' }
  connectionTerminationDeadline: 2m
gateways:
  default: { port: ${port}, address: 127.0.0.1 }
  secure:
    address: 127.0.0.1
    port: ${securePort}
    listeners: [{ tls: { cert: ${pem.cert}, key: ${pem.key} } }]
routes:
- matches: [{ path: { exact: /stream } }]
  backends: [{ host: 127.0.0.1:${stream.port} }]
- gateways: [default, secure]
  backends: [{ host: 127.0.0.1:${short.port} }]
`
  const env = { READINESS_ADDR: `127.0.0.1:${probe}`, ADMIN_ADDR: `unix:${folder.at('admin')}` }
  const program = new Program('gateway', ['-f', folder.write('c.yaml', text)], env)
  stage.add({ close: () => end(program) })
  await program.prints(workers === 1 ? /started bind[^]*started bind/ : /started workers/)
  return { program, port, securePort, probe, folder, text, stream }
}

async function end(program: Program): Promise<void> {
  for (const pid of successorsOf(program)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  await program.kill()
}

/** Sends a signal to the process that serves now. */
function signal(program: Program, name: NodeJS.Signals): void {
  const successor = successorsOf(program).at(-1)
  if (successor === undefined) program.signal(name)
  else process.kill(successor, name)
}

for (const workers of [1, 2])
  restart(
    `under load with ${workers === 1 ? 'one process' : 'workers'} loses nothing`,
    async () => {
      const { program, port, securePort, probe, stream } = await start(workers)
      const targets = [
        { port, isSecure: false },
        { port: securePort, isSecure: true },
      ]
      const load = new SteadyLoad(targets, '/')
      const client = await stage.client({ host: '127.0.0.1', port })
      client.send('GET /stream HTTP/1.1\r\nhost: a\r\n\r\n')
      await client.until(/one/)
      for (const times of [1, 2]) {
        await load.more(50)
        signal(program, 'SIGUSR2')
        const restarted = workers === 1 ? /handed over/g : /restarted workers/g
        await program.prints((text) => text.match(restarted)?.length === times)
        assert.is((await senderTo(probe)('GET /healthz/ready')).status, 200)
      }
      await load.more(200)
      await load.stop()
      assert.equal(load.failures, [])
      stream.release()
      await client.until(/two\r\n0\r\n\r\n$/)
      signal(program, 'SIGTERM')
      assert.is(await program.exit(), 0)
      await untilGone([...workersOf(program).values(), ...successorsOf(program)])
      assert.is(program.stderr, '')
    },
  )

restart(
  'a successor that hangs ends with the old process, when that is stopped meanwhile',
  async () => {
    const { program } = await start(1)
    program.signal('SIGUSR2')
    await program.prints(/starting successor pid=\d+\n/)
    const pid = Number(/starting successor pid=(\d+)/.exec(program.stdout)?.[1])
    process.kill(pid, 'SIGSTOP')
    stage.add({ close: () => isAlive(pid) && process.kill(pid, 'SIGKILL') })
    program.signal('SIGTERM')
    await program.prints(/shutting down/)
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
    await untilGone([pid])
  },
)

restart('a reload during a restart closes no port of the successor', async () => {
  const { program, folder, text } = await start(1)
  const port = await freePort()
  folder.write(
    'c.yaml',
    text
      .replace('gateways:', `gateways:\n  third: { port: ${port}, address: 127.0.0.1 }`)
      .replace('[default, secure]', '[default, secure, third]'),
  )
  program.signal('SIGUSR2')
  await program.prints(/starting successor/)
  program.signal('SIGHUP')
  await program.prints(/handed over|restart failed/)
  assert.not.match(program.stdout, /restart failed|reloaded config/)
  const load = new SteadyLoad([{ port, isSecure: false }], '/')
  await load.more(10)
  await load.stop()
  assert.equal(load.failures, [])
})

restart('a successor with an invalid configuration leaves the old process serving', async () => {
  const { program, port, folder, text } = await start(1)
  const holder = createServer().listen(0, '127.0.0.1')
  stage.add({ close: () => holder.close() })
  await deadline(once(holder, 'listening'), WAIT_MS, 'a port')
  const taken = (holder.address() as AddressInfo).port
  folder.write(
    'c.yaml',
    text.replace('gateways:', `gateways:\n  third: { port: ${taken}, address: 127.0.0.1 }`),
  )
  program.signal('SIGUSR2')
  await program.prints(/restart failed error="the successor exited with code 1"/)
  assert.match(
    program.stderr,
    `Error: cannot listen on 127.0.0.1:${taken} (gateways.third.port): it is in use`,
  )
  const load = new SteadyLoad([{ port, isSecure: false }], '/')
  await load.more(10)
  await load.stop()
  assert.equal(load.failures, [])
  assert.equal(successorsOf(program), [])
})

restart(
  'workers with an invalid configuration leave the old ones serving; a restart can change their number',
  async () => {
    const { program, port, folder, text } = await start(2)
    folder.write('c.yaml', text.replace('routes:', 'roots:'))
    program.signal('SIGUSR2')
    await program.prints(/restart failed error=.*roots/)
    const before = [...workersOf(program).values()]
    assert.ok(before.every(isAlive))
    folder.write('c.yaml', text.replace('workers: 2', 'workers: 3'))
    program.signal('SIGUSR2')
    await program.prints(/restarted workers workers=3/)
    await untilGone(before)
    const load = new SteadyLoad([{ port, isSecure: false }], '/')
    await load.more(10)
    await load.stop()
    assert.equal(load.failures, [])
    assert.is(workersOf(program).size, 3)
  },
)

restart.run()
