// The machine fails: the log is not read, its disk is full, the clock jumps. File descriptors are in spec/bin/descriptors.

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
import {
  HEAD,
  OK,
  ask,
  assertNothingLeft,
  assertLogged,
  requestTextOf,
  until,
  assertNoHandleLeft,
} from './fault-support.ts'

const faults = suite('faults of the machine')
const stage = new Stage()
assertNoHandleLeft(faults)

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
/** Makes a log line this long: many of them exceed the bound of unwritten lines. */
const LONG = `/${'x'.repeat(8_000)}`
const REQUESTS = 320
const FEW = 20

/** A gateway whose standard output is redirected by these shell lines. */
async function startWithOutput(
  shell: string,
  env = {},
): Promise<[GatewayProcess, { port: number }]> {
  const port = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }\n${PAGE}`
  const script = `${shell}; exec "${process.execPath}" "${GATEWAY}" "$@"`
  const gateway = new GatewayProcess(['sh', '-c', script, 'sh'], text, env)
  stage.add({ close: () => gateway.stop() })
  assert.ok(await gateway.isReady(port))
  return [gateway, { port }]
}

async function sendRequests(at: { port: number }, requests: number): Promise<void> {
  const client = await stage.client({ port: at.port, host: '127.0.0.1' })
  for (let sent = 0; sent < requests; sent += 10) {
    client.send(requestTextOf({ path: LONG }).repeat(10))
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
  faults(`a log on ${name} loses lines, and nothing else fails`, async () => {
    const folder = stage.add(new Folder())
    const [gateway, at] = await startWithOutput(shell, { FIFO: folder.at('log') })
    await sendRequests(at, FEW)
    assert.is((await ask(stage, at, 'http/1.1')).body, 'here')
    await endsBySignal(gateway)
  })

// Lines were written by blocking writes: a thread hung there, and the process did not exit.
faults('a log that is not read is bounded, and delays no request', async () => {
  const folder = stage.add(new Folder())
  const [gateway, at] = await startWithOutput('exec >"$FIFO"', withFifo(folder))
  await sendRequests(at, REQUESTS)
  await endsBySignal(gateway)
})

faults('a log that is read again reports how many lines are missing', async () => {
  const folder = stage.add(new Folder())
  const env = withFifo(folder)
  const [gateway, at] = await startWithOutput('exec >"$FIFO"', env)
  await sendRequests(at, REQUESTS)
  let text = ''
  const dropped = (): number =>
    [...text.matchAll(/log lines dropped lines=(\d+)\n/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    )
  const written = (): number => text.split('http.path=/x').length - 1
  await until(() => {
    text += readFrom(readers.at(-1)!)
    return written() + dropped() >= REQUESTS
  }, 'every line to be written or reported as dropped')
  assert.is(written() + dropped(), REQUESTS)
  assert.ok(dropped() > 0)
  await endsBySignal(gateway)
})

/** Pipe ends that stay open, so that the pipe has a reader. */
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

faults('a wall clock that jumps expires tokens, but no limits or connections', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const gateway = await guarded(keys)
  const fields = tokenOf(signer, 600)
  const statusOf = async (): Promise<number> =>
    (await ask(stage, gateway, 'http/1.1', { fields })).status
  assert.is(await statusOf(), 200)
  ahead = HOUR
  assert.is(await statusOf(), 401)
  // The cached verification is valid again.
  ahead = -HOUR
  assert.is(await statusOf(), 200)
  ahead = 48 * HOUR
  const fresh = { fields: tokenOf(signer, 49 * 3_600) }
  const seen: number[] = []
  for (let left = 4; left > 0; left--)
    seen.push((await ask(stage, gateway, 'http/1.1', fresh)).status)
  // One of five is refused, although the wall clock is days later: the window has not ended.
  assert.equal(seen, [200, 200, 200, 429])
  await assertNothingLeft(gateway, { idle: 1 })
  assert.is(keys.asked, 1)
  const ok = '200 complete'
  await assertLogged(gateway, ok, '401 complete', ok, ok, ok, ok, '429 complete')
})

faults('a wall clock that goes back does not stop the refresh of keys', async () => {
  const keys = stage.add(await KeyServer.start(signer))
  const gateway = await guarded(keys)
  const statusOf = async (by: Signer): Promise<number> =>
    (await ask(stage, gateway, 'http/1.1', { fields: tokenOf(by, 600) })).status
  // A missing key causes another fetch, but not at once.
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
