import { connect } from 'node:tls'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_REFUSAL_REPLIES } from '../../lib/accept/admission.ts'
import { formatMetrics } from '../../lib/admin/prometheus-text.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { PREFACE } from '../support/http2-frames.ts'
import { PemFiles } from '../support/pem-files.ts'
import { readMetrics, valueOf } from '../support/prometheus.ts'
import { until } from '../support/until.ts'

const gate = suite('accept/gate')
const stage = new Stage()
gate.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

const PER_PORT =
  'too many connections: 1 are open on this port (frontendPolicies.http.maxConnections)'
const PER_ADDRESS =
  'too many connections: 1 are open from your address (frontendPolicies.http.maxConnectionsPerAddress)'

async function gatewayWith(http: string, gateways = ''): Promise<RunningGateway> {
  const backend = await stage.backend(SERVE)
  return stage.gateway(`frontendPolicies: { http: { ${http} } }\n${gateways}${routeTo(backend)}`)
}

function refused(gateway: RunningGateway, limit: string): number | undefined {
  return valueOf(readMetrics(formatMetrics(gateway.measures)), 'gateway_refused_total', { limit })
}

/** Somebody who is in, and stays. */
async function guest(gateway: RunningGateway) {
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  return client
}

gate('says with 503 that a port has no room, and that it has again', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  const first = await guest(gateway)
  const second = await stage.client(gateway)
  second.send(GET)
  assert.is(
    await second.untilClosed(),
    'HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n' +
      `content-length: ${PER_PORT.length}\r\nretry-after: 1\r\nconnection: close\r\n\r\n${PER_PORT}`,
  )
  assert.is(second.end, 'closed')
  assert.is(refused(gateway, 'maxConnections'), 1)
  const told = gateway.lines.filter(({ message }) => message === 'limit reached')
  assert.equal(told, [
    {
      level: 'warn',
      message: 'limit reached',
      limit: 'maxConnections',
      most: 1,
      key: 'frontendPolicies.http.maxConnections',
    },
  ])
  first.destroy()
  for (;;) {
    const third = await stage.client(gateway)
    third.send(GET)
    await third.settled(() => third.text !== '', 30_000, 'an answer')
    if (third.text === OK) break
    assert.match(third.text, PER_PORT)
  }
})

gate('counts connections by address, IPv4 in the clothes of IPv6 included', async () => {
  const both = 'gateways: { default: { port: ${PORT}, address: "::" } }\n'
  const gateway = await gatewayWith('maxConnectionsPerAddress: 1', both)
  const first = await guest(gateway)
  for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const again = await stage.client({ port: gateway.port, host })
    again.send(GET)
    assert.match(await again.untilClosed(), PER_ADDRESS)
  }
  assert.is(refused(gateway, 'maxConnectionsPerAddress'), 2)
  const other = await stage.client({
    port: gateway.port,
    host: '127.0.0.1',
    localAddress: '127.0.0.2',
  })
  other.send(GET)
  await other.until(/ok$/)
  first.destroy()
  for (;;) {
    const next = await stage.client(gateway)
    next.send(GET)
    await next.settled(() => next.text !== '', 30_000, 'an answer')
    if (next.text === OK) break
  }
})

gate('gives back the place of a connection that became HTTP/2', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  for (let left = 3; left > 0; left--) {
    const client = await stage.client(gateway)
    client.send(PREFACE)
    client.send(Buffer.from('000000040000000000', 'hex'))
    await client.settled(() => client.text.length >= 9, 30_000, 'a SETTINGS frame')
    client.destroy()
    await until('the connection to be gone', () => gateway.live.listeners[0]!.open === 0)
  }
  assert.is(refused(gateway, 'maxConnections'), 0)
})

gate('says GOAWAY to a client that speaks HTTP/2 at once', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  await guest(gateway)
  const client = await stage.client(gateway)
  client.send(PREFACE)
  const text = await client.untilClosed()
  // SETTINGS, then a GOAWAY of type 7 with ENHANCE_YOUR_CALM.
  assert.is(
    Buffer.from(text.slice(9, 26), 'latin1').toString('hex').slice(6),
    '070000000000000000000000000b',
  )
  assert.is(text.slice(26), PER_PORT)
})

gate('tells few at a time: above that, connections close without a word', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  await guest(gateway)
  // Silent ones take all the places of those who are told.
  const silent = []
  for (let left = MAX_REFUSAL_REPLIES; left > 0; left--) silent.push(await stage.client(gateway))
  await until('all to be refused', () => refused(gateway, 'maxConnections')! >= MAX_REFUSAL_REPLIES)
  const client = await stage.client(gateway)
  client.send(GET)
  assert.is(await client.untilClosed(), '')
  for (const one of silent) assert.is(await one.untilClosed(), '')
})

gate(
  'closes on TLS clients before the handshake, and gives back the places of others',
  async () => {
    const pem = stage.add(new PemFiles())
    const tls = `tls: { cert: ${pem.cert}, key: ${pem.key} }`
    const gateway = await gatewayWith(
      'maxConnectionsPerAddress: 1',
      `gateways: { default: { port: \${PORT}, address: 127.0.0.1, listeners: [{ name: any, ${tls} }] } }\n`,
    )
    // A handshake that never comes holds a place, too.
    const mute = await stage.client(gateway)
    assert.not(await shakesHands(gateway))
    assert.is(refused(gateway, 'maxConnectionsPerAddress'), 1)
    mute.destroy()
    for (let times = 3; times > 0; times--) {
      let tries = 0
      while (!(await shakesHands(gateway))) assert.ok(++tries < 1000, 'the place is not given back')
    }
  },
)

/** Whether a handshake comes about; the connection is closed then. */
async function shakesHands({ port }: RunningGateway): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const settled = new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true))
    socket.once('close', () => resolve(false))
    socket.on('error', () => {})
  })
  const isDone = await deadline(settled, 30_000, 'a handshake or none')
  socket.destroy()
  return isDone
}

gate.run()
