// Profiles of the built gateway under load: `go tool pprof` reads them, where it is, and traffic goes on.

import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { goPprof, readProfile } from '../support/pprof.ts'
import { Program } from '../support/program.ts'

const WAIT_MS = 60_000
const MOST_TRIES = 5

/** Left alone, Go drops what took less than 0.5 %: on a slow machine a function of ours may be that rare. */
const ALL_NODES = ['-nodefraction=0', '-nodecount=100000']

const pprof = suite('gateway process, profiles')
const stage = new Stage()
pprof.after.each(() => stage.clear())

async function bytesOf(url: string): Promise<Buffer> {
  const response = await deadline(fetch(url), WAIT_MS, url)
  assert.is(response.status, 200)
  return Buffer.from(await deadline(response.arrayBuffer(), WAIT_MS, `the rest of ${url}`))
}

/** On a busy machine some seconds are not enough to see all that is done in them. */
async function profileWith(frame: string, admin: number): Promise<Buffer> {
  const url = `http://127.0.0.1:${admin}/debug/pprof/profile?seconds=2&frequency=1000`
  for (let tries = 1; ; tries++) {
    const cpu = await bytesOf(url)
    const frames = readProfile(cpu).stacks.flatMap((stack) => stack.frames)
    if (frames.some((one) => one.startsWith(frame))) return cpu
    assert.ok(tries < MOST_TRIES, `no ${frame} in ${JSON.stringify(frames)}`)
  }
}

pprof('show our functions, while requests are answered', async () => {
  if (process.platform !== 'linux') return
  const [port, admin] = [await freePort(), await freePort()]
  const text = `config: { adminAddr: '127.0.0.1:${admin}', logging: { level: 'info,request=off' } }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 200, body: hi } } }]
`
  const program = new Program('gateway', ['-c', text], { ADMIN_ADDR: undefined })
  stage.add({ close: () => program.kill() })
  await program.prints(/started bind/)
  let state: 'taking' | 'taken' = 'taking'
  let answered = 0
  const load = async (): Promise<void> => {
    while (state === 'taking') {
      const response = await fetch(`http://127.0.0.1:${port}/`)
      assert.is(await response.text(), 'hi')
      answered++
    }
  }
  const loads = Promise.all([load(), load(), load()])
  const cpu = await profileWith('head (lib/accept/http1.ts) lib/accept', admin)
  const heap = await bytesOf(`http://127.0.0.1:${admin}/debug/pprof/heap`)
  state = 'taken'
  await deadline(loads, WAIT_MS, 'the last answers')
  assert.ok(answered > 10, `${answered} answers`)

  assert.ok(readProfile(heap).stacks.length > 0)
  checkWithGo(cpu, heap)
})

function checkWithGo(cpu: Buffer, heap: Buffer): void {
  const folder = stage.add(new Folder())
  const files = { cpu: folder.at('cpu.pb.gz'), heap: folder.at('heap.pb.gz') }
  writeFileSync(files.cpu, cpu)
  writeFileSync(files.heap, heap)
  const top = goPprof(files.cpu, '-top', '-cum', ...ALL_NODES)
  if (top === null) return
  assert.match(top, /Type: cpu\n/)
  assert.match(top, /\d+(ms|s)? .*head \(lib\/accept\/http1\.ts\)\n/)
  assert.match(goPprof(files.cpu, '-raw') ?? '', /PeriodType: cpu nanoseconds\nPeriod: 1000000\n/)
  assert.match(
    goPprof(files.cpu, '-top', '-lines', ...ALL_NODES) ?? '',
    /lib\/accept\/http1\.ts:\d+/,
  )
  assert.match(goPprof(files.heap, '-top') ?? '', /Type: inuse_space\n/)
  assert.match(goPprof(files.heap, '-raw') ?? '', /inuse_objects\/count inuse_space\/bytes/)
}

pprof.run()
