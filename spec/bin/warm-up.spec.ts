// The built gateway warms up as it starts: nobody sees anything of it, a stop need not wait for it, and a successor has done
// it before it serves.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import { isAlive, successorsOf } from '../support/processes.ts'
import { Program } from '../support/program.ts'

const WAIT_MS = 30_000

/** Of a request. */
const LINE = /\trequest /

const warming = suite('gateway process, warm-up')
const stage = new Stage()
warming.after.each(() => stage.clear())

interface Started {
  readonly program: Program
  readonly url: string
  readonly stats: string
}

async function start(workers = 1): Promise<Started> {
  const [port, stats] = [await freePort(), await freePort()]
  const text = `config: { workers: ${workers}, logging: { level: 'info,gateway=debug' } }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ backends: [{ ai: { name: one, provider: { mock: {} } } }] }]
`
  const env = { WARM_UP: undefined, STATS_ADDR: `127.0.0.1:${stats}` }
  const program = new Program('gateway', ['-c', text], env)
  stage.add({ close: () => end(program) })
  await program.prints(/started bind/)
  return { program, url: `http://127.0.0.1:${port}/`, stats: `http://127.0.0.1:${stats}/metrics` }
}

async function end(program: Program): Promise<void> {
  for (const pid of successorsOf(program)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  await program.kill()
}

/** Requests, connections and tokens that were counted. */
async function counted(url: string): Promise<string[]> {
  const page = await deadline(fetch(url), WAIT_MS, url)
  const lines = (await deadline(page.text(), WAIT_MS, 'its text')).split('\n')
  const counts = /^\w+(?:requests|connections|tokens)\w*(?:\{[^}]*\})? (?!0$)/
  return lines.filter((line) => counts.test(line))
}

for (const workers of [1, 2])
  warming(`of ${workers}: no line and no count tells of it`, async () => {
    const { program, url, stats } = await start(workers)
    await program.prints((text) => text.split('warmed up').length > workers)
    assert.equal(await counted(stats), [])
    assert.not.match(program.stdout, LINE)
    // What would have told of it tells of this one.
    await deadline(fetch(url), WAIT_MS, url)
    await program.prints(LINE)
    assert.is.not((await counted(stats)).length, 0)
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
  })

warming('a stop does not wait for it', async () => {
  const { program } = await start()
  program.signal('SIGTERM')
  assert.is(await program.exit(), 0)
  assert.match(program.stdout, /stopped\n$/)
})

warming('a successor has it behind it when it takes over', async () => {
  const { program } = await start()
  await program.prints(/warmed up/)
  program.signal('SIGUSR2')
  await program.prints(/handed over/)
  // Lines of two processes come as each writes them, but those of one in its order.
  await program.prints(/warmed up[^]*warmed up [^]*started bind/)
  for (const pid of successorsOf(program)) process.kill(pid, 'SIGTERM')
  assert.is(await program.exit(), 0)
})

warming.run()
