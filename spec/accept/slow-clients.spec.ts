// Hundreds of slow heads, uploads and readers at once, as slowhttptest sends them. Each gets an error or is cut in time,
// other clients are served meanwhile, and no connection remains.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { assertNothingLeft } from '../faults/fault-support.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'

const slow = suite('accept/slow clients')
const stage = new Stage()
slow.after.each(() => stage.clear())

const CLIENTS = 200
/** Socket buffers take some megabytes of a response before the client reads. */
const READERS = 10
const WAIT_MS = 30_000
const LIMITS = 'headTimeout: 600ms, bodyIdleTimeout: 300ms, responseIdleTimeout: 300ms'
const PAGE = 'GET /page HTTP/1.1\r\nhost: a\r\n\r\n'
const ANSWER = Buffer.alloc(33_554_432, 'x')
const ROUTES = `frontendPolicies: { http: { ${LIMITS} } }
routes:
- { name: page, matches: [{ path: { exact: /page } }], policies: { directResponse: { status: 200, body: hi } } }
`

async function open(): Promise<RunningGateway> {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${ANSWER.length}\r\n\r\n`
  const backend = await stage.backend([
    { wait: /GET [^]*\r\n\r\n/ },
    { send: head },
    { send: ANSWER },
  ])
  return stage.gateway(ROUTES + routeTo(backend).replace('routes: [', '- ').replace(/\]\n$/, '\n'))
}

async function crowd(gateway: RunningGateway, text: string, count = CLIENTS): Promise<RawClient[]> {
  const clients = []
  for (let i = 0; i < count; i++) {
    const client = await stage.client(gateway)
    client.send(text)
    clients.push(client)
  }
  return clients
}

/** Sends a small piece on each connection from time to time. */
async function trickle(clients: readonly RawClient[], piece: string): Promise<void> {
  const timer = setInterval(() => {
    for (const client of clients) if (client.end === 'open') client.send(piece)
  }, 100)
  try {
    for (const client of clients) await client.untilClosed(WAIT_MS)
  } finally {
    clearInterval(timer)
  }
}

async function isAnswered(gateway: RunningGateway): Promise<void> {
  const other = await stage.client(gateway)
  other.send(PAGE)
  await other.until(/hi$/)
  other.destroy()
}

slow('answers 408 to hundreds of heads that arrive slowly', async () => {
  const gateway = await open()
  const clients = await crowd(gateway, 'GET /page HTTP/1.1\r\nhost: a\r\n')
  const over = trickle(clients, 'x-more: x\r\n')
  await isAnswered(gateway)
  await over
  for (const { text } of clients) assert.match(text, /^HTTP\/1\.1 408 /)
  for (const client of clients) client.destroy()
  await assertNothingLeft(gateway)
})

slow('answers 408 to hundreds of uploads that stall', async () => {
  const gateway = await open()
  const clients = await crowd(
    gateway,
    'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4096\r\n\r\nx',
  )
  await isAnswered(gateway)
  for (const client of clients)
    assert.match(await client.untilClosed(WAIT_MS), /^HTTP\/1\.1 408 [^]*request body timeout$/)
  for (const client of clients) client.destroy()
  await assertNothingLeft(gateway)
})

slow('cuts responses that clients do not read', async () => {
  const gateway = await open()
  const clients = await crowd(gateway, '', READERS)
  for (const client of clients) {
    client.socket.pause()
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  }
  await isAnswered(gateway)
  const outcomes = await gateway.outcomes(READERS + 1)
  assert.is(outcomes.filter((outcome) => outcome === 'idle').length, READERS)
  for (const client of clients) client.destroy()
  await assertNothingLeft(gateway)
})

slow.run()
