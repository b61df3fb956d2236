// Profiles of the built gateway under load: `go tool pprof` reads them, if it is installed, and traffic continues.

import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { goPprof, readProfile } from '../support/pprof.ts'
import { Program } from '../support/program.ts'
import { RawClient } from '../support/raw-client.ts'
import { reportSkip } from '../support/report-skip.ts'

const WAIT_MS = 60_000

/** Sampling is random, and samples are rare on a busy machine: profiles are repeated until this time is over. */
const MAX_MS = 60_000

/** By default Go drops functions below 0.5 %: on a slow machine a function of the gateway may be that rare. */
const ALL_NODES = ['-nodefraction=0', '-nodecount=100000']

const HEAD = 'head (lib/accept/http1-connection.ts) lib/accept'
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

/** Requests sent at once on a connection, so that the gateway is busy and does not wait for the client. */
const PIPELINED = 200
const CLIENTS = 2

/** One allocation in 512 KiB is sampled, and a connection takes a few KiB: each attempt opens this many more. */
const MORE_CONNECTIONS = 50

const pprof = suite('gateway process, profiles')
const stage = new Stage()
pprof.after.each(() => stage.clear())

async function bytesOf(url: string): Promise<Buffer> {
  const response = await deadline(fetch(url), WAIT_MS, url)
  assert.is(response.status, 200)
  return Buffer.from(await deadline(response.arrayBuffer(), WAIT_MS, `the rest of ${url}`))
}

async function connected(port: number): Promise<RawClient> {
  const client = await RawClient.connect(port)
  stage.add({ close: () => client.destroy() })
  return client
}

/** Clients that always have requests in flight, until `stop`. */
class Load {
  answered = 0
  #state: 'running' | 'over' = 'running'

  async run(port: number): Promise<void> {
    const client = await connected(port)
    client.send(REQUEST)
    const answer = await client.until(/\r\n\r\nhi$/, WAIT_MS)
    while (this.#state === 'running') {
      client.take(client.text.length)
      client.arrivals.length = 0
      client.send(REQUEST.repeat(PIPELINED))
      const answers = await client.untilBytes(answer.length * PIPELINED, WAIT_MS)
      assert.is(answers.split('\r\n\r\nhi').length - 1, PIPELINED)
      this.answered += PIPELINED
    }
  }

  stop(): void {
    this.#state = 'over'
  }
}

/** A CPU profile in which that function took time: Go omits functions that took none. */
async function profileWith(frame: string, admin: number): Promise<Buffer> {
  const url = `http://127.0.0.1:${admin}/debug/pprof/profile?seconds=2&frequency=1000`
  const last = performance.now() + MAX_MS
  for (;;) {
    const cpu = await bytesOf(url)
    const spent = readProfile(cpu).stacks.filter(({ values }) => values[1]! > 0)
    const frames = spent.flatMap((stack) => stack.frames)
    if (frames.some((one) => one.startsWith(frame))) return cpu
    assert.ok(performance.now() < last, `no ${frame} in ${JSON.stringify(frames)}`)
  }
}

/** A heap profile with at least one sample; opens more connections until there is one. */
async function heapProfile(port: number, admin: number): Promise<Buffer> {
  const last = performance.now() + MAX_MS
  for (;;) {
    const heap = await bytesOf(`http://127.0.0.1:${admin}/debug/pprof/heap`)
    if (readProfile(heap).stacks.length > 0) return heap
    assert.ok(performance.now() < last, 'no live allocation was sampled')
    for (let count = 0; count < MORE_CONNECTIONS; count++) await connected(port)
  }
}

async function takeProfiles(port: number, admin: number): Promise<[cpu: Buffer, heap: Buffer]> {
  return [await profileWith(HEAD, admin), await heapProfile(port, admin)]
}

pprof('show functions of the gateway, while requests are answered', async () => {
  if (process.platform !== 'linux') return
  const [port, admin] = [await freePort(), await freePort()]
  const text = `config: { adminAddr: '127.0.0.1:${admin}', logging: { level: 'info,request=off' } }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 200, body: hi } } }]
`
  const program = new Program('gateway', ['-c', text], { ADMIN_ADDR: undefined })
  stage.add({ close: () => program.kill() })
  await program.prints(/started bind/)
  const load = new Load()
  const loads = Array.from({ length: CLIENTS }, () => load.run(port))
  const [[cpu, heap]] = await Promise.all([
    takeProfiles(port, admin).finally(() => load.stop()),
    ...loads,
  ])
  assert.ok(load.answered > 10, `${load.answered} answers`)
  checkWithGo(cpu, heap)
})

function checkWithGo(cpu: Buffer, heap: Buffer): void {
  const folder = stage.add(new Folder())
  const files = { cpu: folder.at('cpu.pb.gz'), heap: folder.at('heap.pb.gz') }
  writeFileSync(files.cpu, cpu)
  writeFileSync(files.heap, heap)
  const top = goPprof(files.cpu, '-top', '-cum', ...ALL_NODES)
  if (top === null) return reportSkip('go tool pprof', 'Go is not installed')
  assert.match(top, /Type: cpu\n/)
  assert.match(top, /\d+(ms|s)? .*head \(lib\/accept\/http1-connection\.ts\)\n/)
  assert.match(goPprof(files.cpu, '-raw') ?? '', /PeriodType: cpu nanoseconds\nPeriod: 1000000\n/)
  assert.match(
    goPprof(files.cpu, '-top', '-lines', ...ALL_NODES) ?? '',
    /lib\/accept\/http1-connection\.ts:\d+/,
  )
  assert.match(goPprof(files.heap, '-top') ?? '', /Type: inuse_space\n/)
  assert.match(goPprof(files.heap, '-raw') ?? '', /inuse_objects\/count inuse_space\/bytes/)
}

pprof.run()
