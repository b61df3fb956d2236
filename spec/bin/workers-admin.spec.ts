// The admin interface of a gateway with two workers, also after one of them is killed.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { senderTo } from '../support/admin.ts'
import type { SendRequest } from '../support/admin.ts'
import { ask } from '../support/ask.ts'
import { Stage } from '../support/gateway.ts'
import { Program, runProgram } from '../support/program.ts'
import { readMetrics, valueOf } from '../support/prometheus.ts'

const admin = suite('gateway process, admin of workers')
const stage = new Stage()
admin.after.each(() => stage.clear())

interface Scene {
  readonly program: Program
  readonly port: number
  readonly adminPort: number
  readonly admin: SendRequest
  readonly stats: SendRequest
}

async function start(): Promise<Scene> {
  const port = await freePort()
  const adminPort = await freePort()
  const statsPort = await freePort()
  const text = `config: { workers: 2 }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
ui: {}
routes: [{ name: all, policies: { directResponse: { status: 200, body: hi } } }]
`
  const env = { ADMIN_ADDR: `127.0.0.1:${adminPort}`, STATS_ADDR: `127.0.0.1:${statsPort}` }
  const program = new Program('gateway', ['-c', text], env)
  stage.add({ close: () => program.kill() })
  await program.prints(/started workers/)
  // The sockets between the processes are not logged.
  assert.not.match(program.stdout, /unix:/)
  return { program, port, adminPort, admin: senderTo(adminPort), stats: senderTo(statsPort) }
}

async function requests({ stats }: Scene): Promise<number> {
  const samples = readMetrics((await stats('GET /metrics')).text)
  assert.is(valueOf(samples, 'gateway_workers', { state: 'wanted' }), 2)
  return samples
    .filter(({ name, labels }) => name === 'gateway_requests_total' && labels['backend'] !== 'ui')
    .reduce((sum, { value }) => sum + value, 0)
}

async function pidOf({ admin: asked }: Scene, worker: number): Promise<number> {
  const { text } = await asked('GET /memory')
  const { workers } = JSON.parse(text) as { workers: { worker: number; pid: number }[] }
  return workers.find((one) => one.worker === worker)!.pid
}

admin('all workers answer as one, also after one was killed', async () => {
  const scene = await start()
  const { program, port, adminPort } = scene
  for (let left = 4; left > 0; left--) await ask({ port }, 'GET /seen HTTP/1.1')
  assert.is(await requests(scene), 4)
  const page = await senderTo(port)('GET /api/runtime')
  const { workers } = JSON.parse(page.text) as { workers: unknown }
  assert.equal(workers, { wanted: 2, running: 2 })

  assert.is((await scene.admin('POST /logging?level=debug')).status, 200)
  // A killed worker may not have written its line yet.
  await program.prints(/log level set level=debug worker=2/)
  const pid = await pidOf(scene, 2)
  process.kill(pid, 'SIGKILL')
  await program.prints((text) => text.split('log level set level=debug worker=2').length === 3)
  assert.is.not(await pidOf(scene, 2), pid)
  assert.is(await requests(scene), 4)

  const at = ['-p', String(adminPort)]
  const asked = ['--raw', '--port', String(port), '--', 'http://a/traced']
  const traced = await runProgram('gwctl', ['proxy', 'trace', ...at, ...asked])
  assert.match(traced.stdout, /"path":"\/traced"[^]*"requestFinished","status":200/)
  const tasks = await runProgram('gwctl', ['proxy', 'tasks', ...at])
  assert.match(tasks.stdout, /- worker=1 [^]*bind=bind\/\d+[^]*- worker=2 [^]*bind=bind\/\d+/)

  assert.is((await scene.admin('POST /quitquitquit')).status, 200)
  assert.is(await program.exit(), 0)
})

admin.run()
