// Floods of HTTP/2 frames against a gateway in its own process: each flood ends its connection, other clients are served
// meanwhile, and no connection remains.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { senderTo } from '../support/admin.ts'
import type { SendRequest } from '../support/admin.ts'
import { Backend } from '../support/backend.ts'
import {
  END_HEADERS,
  END_STREAM,
  fieldLines,
  frame,
  framesOf,
  PADDED,
  PREFACE,
} from '../support/http2-frames.ts'
import { Program } from '../support/program.ts'
import { RawClient } from '../support/raw-client.ts'

const floods = suite('accept/http2 floods')

const WAIT_MS = 30_000
/** The bytes after which a flood counts as not detected. */
const MAX_FLOOD_BYTES = 268_435_456
/** Allows for the normal growth of the heap, not for buffering the flood. */
const MAX_GROWTH = 134_217_728
const BOTH = END_HEADERS | END_STREAM
const ASK = 'GET /page HTTP/1.1\r\nhost: a\r\n\r\n'

const GET = headOf('GET')
const POST = headOf('POST')

let backend: Backend
let program: Program
let port = 0
let asking: SendRequest

function headOf(method: string): Buffer {
  return fieldLines([':method', method], [':scheme', 'http'], [':path', '/'], [':authority', 'a'])
}

floods.before(async () => {
  backend = await Backend.start([{ wait: /\r\n\r\n/ }, { hold: true }])
  port = await freePort()
  const admin = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
frontendPolicies: { http: { responseIdleTimeout: 1s } }
routes:
- { name: page, matches: [{ path: { exact: /page } }], policies: { directResponse: { status: 200, body: hi } } }
- { name: all, backends: [{ host: 127.0.0.1:${backend.port} }] }
`
  program = new Program('gateway', ['-c', text], { ADMIN_ADDR: `127.0.0.1:${admin}` })
  await program.prints(/started bind/)
  asking = senderTo(admin)
})

floods.after(async () => {
  await program.kill()
  await backend.close()
})

type Batch = (n: number) => readonly Buffer[]

/**
 * Sends batches until the gateway closes the connection, or sends GOAWAY and discards what it reads, as Node 20 does for
 * some faults.
 */
async function sendFlood(client: RawClient, batch: Batch): Promise<void> {
  let sent = 0
  const hasGoAway = (): boolean => framesOf(client.text).some(({ type }) => type === 'goaway')
  const over = client.settled(hasGoAway, WAIT_MS, 'the end of a flood')
  for (let n = 0; client.end === 'open' && !hasGoAway() && sent < MAX_FLOOD_BYTES; n++) {
    const bytes = Buffer.concat(batch(n))
    sent += bytes.length
    const written = new Promise<void>((resolve) => client.socket.write(bytes, () => resolve()))
    await Promise.race([written, over])
  }
  await over
}

/** Requests a page repeatedly until the flood is over; each request must be answered. */
async function requestMeanwhile(isOver: () => boolean): Promise<void> {
  const other = await RawClient.connect(port)
  do {
    other.send(ASK)
    const text = await other.until(/\r\n\r\nhi$/, WAIT_MS)
    assert.match(other.take(text.length), /^HTTP\/1\.1 200 OK/)
  } while (!isOver())
  other.destroy()
}

async function memory(): Promise<number> {
  const { text } = await asking('GET /memory')
  return (JSON.parse(text) as { process: { rss: number } }).process.rss
}

/** The open connections of each listener. */
async function openConnections(): Promise<unknown> {
  const { text } = await asking('GET /debug/tasks')
  const { listeners } = JSON.parse(text) as { listeners: { open: number }[] }
  return listeners.map(({ open }) => open)
}

function many(count: number, each: (i: number) => readonly Buffer[]): Batch {
  return (n) => Array.from({ length: count }, (_, i) => each(n * count + i)).flat()
}

/** The first batch, then only the others. */
function after(first: readonly Buffer[], batch: Batch): Batch {
  return (n) => (n === 0 ? first : batch(n - 1))
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The id of the i-th stream of a client. */
function id(i: number): number {
  return 2 * i + 1
}

/** Fields that take one byte each on the wire and some thousand bytes in memory. */
function bomb(): Buffer {
  const long = Buffer.from('\x40\x01x\x7f\xbd\x1d' + 'z'.repeat(3_900), 'latin1')
  return Buffer.concat([GET, long, Buffer.alloc(12_000, 0xbe)])
}

const UPLOAD = [frame('headers', END_HEADERS, 1, POST)]
const LONG = Buffer.concat([POST, fieldLines(['content-length', '3'])])
const PAIR = Buffer.from([0, 3, 0, 0, 0, 100])
const NO_WINDOW = frame('settings', 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))

const FLOODS: Record<string, Batch> = {
  'streams that are reset at once': many(50, (i) => [
    frame('headers', BOTH, id(i), GET),
    frame('reset', 0, id(i), number(8)),
  ]),
  'streams that are reset without an error': many(50, (i) => [
    frame('headers', BOTH, id(i), GET),
    frame('reset', 0, id(i), number(0)),
  ]),
  'streams that the gateway resets for more than their length': many(50, (i) => [
    frame('headers', END_HEADERS, id(i), LONG),
    frame('data', END_STREAM, id(i), Buffer.from('more')),
  ]),
  'streams that the gateway resets for a window update of 0': many(50, (i) => [
    frame('headers', BOTH, id(i), GET),
    frame('update', 0, id(i), number(0)),
  ]),
  'heads that are malformed': many(50, (i) => [
    frame('headers', BOTH, id(i), Buffer.concat([GET, fieldLines(['Upper', 'x'])])),
  ]),
  'more streams than allowed': many(50, (i) => [frame('headers', END_HEADERS, id(i), POST)]),
  'a head without end': after(
    [frame('headers', 0, 1, GET)],
    many(20, (i) => [frame('continuation', 0, 1, fieldLines([`x-${i}`, 'y'.repeat(100)]))]),
  ),
  'a head with empty continuations': after(
    [frame('headers', 0, 1, GET)],
    many(50, () => [frame('continuation', 0, 1)]),
  ),
  'heads that expand in memory': (n) => [frame('headers', BOTH, id(n), bomb())],
  settings: many(50, () => [frame('settings', 0, 0, PAIR)]),
  'settings of many entries': () => [
    frame('settings', 0, 0, Buffer.concat(Array.from({ length: 2_700 }, () => PAIR))),
  ],
  pings: many(50, () => [frame('ping', 0, 0, Buffer.alloc(8))]),
  'acknowledgements of pings that were not sent': many(50, () => [
    frame('ping', 1, 0, Buffer.alloc(8)),
  ]),
  'data without content': after(
    UPLOAD,
    many(50, () => [frame('data', 0, 1)]),
  ),
  'data that is only padding': after(
    UPLOAD,
    many(50, () => [frame('data', PADDED, 1, Buffer.from([99, ...Buffer.alloc(99)]))]),
  ),
  'a window above all bounds': () => [frame('update', 0, 0, number(0x7fff_ffff))],
  'windows that grow by one': after(
    [NO_WINDOW, ...UPLOAD],
    many(200, () => [frame('update', 0, 1, number(1)), frame('update', 0, 0, number(1))]),
  ),
  priorities: many(200, (i) => [frame('priority', 0, id(i), Buffer.from([0, 0, 0, 0, 1]))]),
  'unknown frames': many(200, () => [frame('unknown', 0, 0, Buffer.alloc(64))]),
  'a stream id that only the server may open': () => [frame('headers', BOTH, 2, GET)],
  'a head for the connection': () => [frame('headers', BOTH, 0, GET)],
  'a push promise, which only servers send': () => [
    frame('promise', END_HEADERS, 1, Buffer.concat([number(2), GET])),
  ],
  'a frame above all bounds': () => [frame('data', 0, 1, Buffer.alloc(20_000))],
}

for (const [name, batch] of Object.entries(FLOODS))
  floods(`ends a connection of ${name}`, async () => {
    const before = await memory()
    const client = await RawClient.connect(port)
    client.send(Buffer.concat([PREFACE, frame('settings', 0, 0)]))
    let state: 'running' | 'over' = 'running'
    const flood = sendFlood(client, batch).finally(() => (state = 'over'))
    await Promise.all([flood, requestMeanwhile(() => state === 'over')])
    client.destroy()
    const growth = (await memory()) - before
    assert.ok(growth < MAX_GROWTH, `grew by ${growth} bytes`)
  })

floods('keeps no connection of a flood', async () => {
  const until = performance.now() + WAIT_MS
  while (JSON.stringify(await openConnections()) !== '[0]' && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(await openConnections(), [0])
})

floods.run()
