// The machine fails: nobody reads the log, its disk is full, the clock jumps. Few file descriptors are in spec/bin/descriptors.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GatewayProcess, freePort } from '../../conformance/gateway-process.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { KeyServer } from '../support/key-server.ts'
import { ROOT } from '../support/root.ts'
import { Signer } from '../support/signer.ts'
import { HEAD, OK, ask, leaves, logs, textOf, until, leavesNoHandle } from './scene.ts'

const faults = suite('faults of the machine')
const stage = new Stage()
leavesNoHandle(faults)

/** The wall clock as the gateway reads it. */
const now = Date.now.bind(Date)
let ahead = 0
Date.now = () => now() + ahead
faults.after(() => void (Date.now = now))
faults.after.each(async () => {
  ahead = 0
  await stage.clear()
})

const GATEWAY = join(ROOT, 'dist/bin/gateway.js')
const PAGE = 'routes: [{ policies: { directResponse: { status: 200, body: here } } }]\n'
/** Makes a line of the log as long: many of them are more than may wait. */
const LONG = `/${'x'.repeat(8_000)}`
const REQUESTS = 320
const FEW = 20

/** A gateway whose standard output is what these lines of shell say. */
async function writingTo(shell: string, env = {}): Promise<[GatewayProcess, { port: number }]> {
  const port = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }\n${PAGE}`
  const script = `${shell}; exec "${process.execPath}" "${GATEWAY}" "$@"`
  const gateway = new GatewayProcess(['sh', '-c', script, 'sh'], text, env)
  stage.add({ close: () => gateway.stop() })
  assert.ok(await gateway.isReady(port))
  return [gateway, { port }]
}

async function talk(at: { port: number }, requests: number): Promise<void> {
  const client = await stage.client({ port: at.port, host: '127.0.0.1' })
  for (let sent = 0; sent < requests; sent += 10) {
    client.send(textOf({ path: LONG }).repeat(10))
    await client.until((text) => text.split('here').length > 10)
    client.take(client.text.length)
  }
  client.destroy()
}

async function endsBySignal(gateway: GatewayProcess): Promise<void> {
  gateway.signal('SIGTERM')
  assert.is(await gateway.exitCode(), 0)
  assert.is(gateway.stderr, '')
}

for (const [name, shell] of Object.entries({
  'a full disk': 'exec >/dev/full',
  'a pipe whose reader is gone': 'mkfifo "$FIFO"; exec 7<>"$FIFO" >"$FIFO" 7<&-',
}))
  faults(`a log on ${name} costs lines, and nothing else`, async () => {
    const folder = stage.add(new Folder())
    const [gateway, at] = await writingTo(shell, { FIFO: folder.at('log') })
    await talk(at, FEW)
    assert.is((await ask(stage, at, 'http/1.1')).body, 'here')
    await endsBySignal(gateway)
  })

// Lines went out by blocking writes: a thread hung there, and the process with it when it was to end.
faults('a log that nobody reads is kept within a bound, and holds up nothing', async () => {
  const folder = stage.add(new Folder())
  const [gateway, at] = await writingTo('exec >"$FIFO"', withFifo(folder))
  await talk(at, REQUESTS)
  await endsBySignal(gateway)
})

faults('a log that is read again says how much is missing', async () => {
  const folder = stage.add(new Folder())
  const env = withFifo(folder)
  const [gateway, at] = await writingTo('exec >"$FIFO"', env)
  await talk(at, REQUESTS)
  let text = ''
  const dropped = (): number =>
    [...text.matchAll(/ lines dropped: .* lines=(\d+)\n/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    )
  const written = (): number => text.split('http.path=/x').length - 1
  await until(() => {
    text += readFrom(readers.at(-1)!)
    return written() + dropped() >= REQUESTS
  }, 'every line, or the word that it is missing')
  assert.is(written() + dropped(), REQUESTS)
  assert.ok(dropped() > 0)
  await endsBySignal(gateway)
})

/** Ends of pipes that stay open, so that there is somebody who could read. */
const readers: number[] = []
faults.after.each(() => {
  for (const reader of readers.splice(0)) closeSync(reader)
})

function withFifo(folder: Folder): { FIFO: string } {
  const FIFO = folder.at('log')
  execFileSync('mkfifo', [FIFO])
  readers.push(openSync(FIFO, constants.O_RDWR | constants.O_NONBLOCK))
  return { FIFO }
}

function readFrom(reader: number): string {
  const buffer = Buffer.alloc(1_048_576)
  try {
    return buffer.toString('latin1', 0, readSync(reader, buffer))
  } catch {
    return ''
  }
}

const HOUR = 3_600_000
const signer = await Signer.make('ES256', 'one')
const other = await Signer.make('ES256', 'two')

function tokenOf(by: Signer, seconds: number): Record<string, string> {
  const exp = Math.floor(now() / 1000) + seconds
  return { authorization: `Bearer ${by.token({ iss: 'https://idp.example', aud: 'a', exp })}` }
}

async function guarded(keys: KeyServer) {
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const jwt = `jwtAuth: { issuer: "https://idp.example", audiences: [a], jwks: { url: "${keys.url}" } }`
  const limit = 'rateLimit: { local: [{ requests: 5, unit: Hours }] }'
  const text = `routes: [{ name: all, backends: [{ host: 127.0.0.1:${backend.port} }], policies: { ${jwt}, ${limit} } }]`
  return stage.gateway(text)
}

faults('a wall clock that jumps ages tokens, and neither limits nor connections', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const gateway = await guarded(keys)
  const fields = tokenOf(signer, 600)
  const statusOf = async (): Promise<number> =>
    (await ask(stage, gateway, 'http/1.1', { fields })).status
  assert.is(await statusOf(), 200)
  ahead = HOUR
  assert.is(await statusOf(), 401)
  // It was remembered as good, and is again.
  ahead = -HOUR
  assert.is(await statusOf(), 200)
  ahead = 48 * HOUR
  const fresh = { fields: tokenOf(signer, 49 * 3_600) }
  const seen: number[] = []
  for (let left = 4; left > 0; left--)
    seen.push((await ask(stage, gateway, 'http/1.1', fresh)).status)
  // One of five is refused, days later by the wall: the window has not turned.
  assert.equal(seen, [200, 200, 200, 429])
  await leaves(gateway, { idle: 1 })
  assert.is(keys.asked, 1)
  const ok = '200 complete'
  await logs(gateway, ok, '401 complete', ok, ok, ok, ok, '429 complete')
})

faults('a wall clock that goes back keeps nobody from fetching keys', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const gateway = await guarded(keys)
  const statusOf = async (by: Signer): Promise<number> =>
    (await ask(stage, gateway, 'http/1.1', { fields: tokenOf(by, 600) })).status
  // A key that is missing makes it fetch again, but not at once.
  assert.equal([await statusOf(signer), await statusOf(other)], [200, 401])
  assert.is(keys.asked, 2)
  const monotonic = performance.now.bind(performance)
  performance.now = () => monotonic() + 60_000
  ahead = -HOUR
  keys.offer(signer, other)
  try {
    assert.is(await statusOf(other), 200)
  } finally {
    performance.now = monotonic
  }
  assert.is(keys.asked, 3)
})

faults.run()
