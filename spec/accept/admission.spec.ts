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

const admission = suite('accept/admission')
const stage = new Stage()
admission.after.each(() => stage.clear())

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

function refusalCount(gateway: RunningGateway, limit: string): number | undefined {
  return valueOf(readMetrics(formatMetrics(gateway.measures)), 'gateway_refused_total', { limit })
}

/** A client that has got a response and stays connected. */
async function connectedClient(gateway: RunningGateway) {
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/ok$/)
  return client
}

admission(
  'answers 503 while a port has all its connections, and 200 after one closes',
  async () => {
    const gateway = await gatewayWith('maxConnections: 1')
    const first = await connectedClient(gateway)
    const second = await stage.client(gateway)
    second.send(GET)
    assert.is(
      await second.untilClosed(),
      'HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n' +
        `content-length: ${PER_PORT.length}\r\nretry-after: 1\r\nconnection: close\r\n\r\n${PER_PORT}`,
    )
    assert.is(second.end, 'closed')
    assert.is(refusalCount(gateway, 'maxConnections'), 1)
    const logged = gateway.lines.filter(({ message }) => message === 'limit reached')
    assert.equal(logged, [
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
  },
)

admission('counts connections by address, with IPv4-mapped IPv6 addresses as IPv4', async () => {
  const both = 'gateways: { default: { port: ${PORT}, address: "::" } }\n'
  const gateway = await gatewayWith('maxConnectionsPerAddress: 1', both)
  const first = await connectedClient(gateway)
  for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const again = await stage.client({ port: gateway.port, host })
    again.send(GET)
    assert.match(await again.untilClosed(), PER_ADDRESS)
  }
  assert.is(refusalCount(gateway, 'maxConnectionsPerAddress'), 2)
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

admission('releases the count of a connection that became HTTP/2', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  for (let left = 3; left > 0; left--) {
    const client = await stage.client(gateway)
    client.send(PREFACE)
    client.send(Buffer.from('000000040000000000', 'hex'))
    await client.settled(() => client.text.length >= 9, 30_000, 'a SETTINGS frame')
    client.destroy()
    await until('the connection to close', () => gateway.live.listeners[0]!.open === 0)
  }
  assert.is(refusalCount(gateway, 'maxConnections'), 0)
})

admission('sends GOAWAY to an HTTP/2 client with prior knowledge', async () => {
  const gateway = await gatewayWith('maxConnections: 1')
  await connectedClient(gateway)
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

admission(
  'answers a bounded number of refused connections at a time, and closes the others without a reply',
  async () => {
    const gateway = await gatewayWith('maxConnections: 1')
    await connectedClient(gateway)
    // Clients that send nothing occupy all refusal replies.
    const silent = []
    for (let left = MAX_REFUSAL_REPLIES; left > 0; left--) silent.push(await stage.client(gateway))
    await until(
      'all to be refused',
      () => refusalCount(gateway, 'maxConnections')! >= MAX_REFUSAL_REPLIES,
    )
    const client = await stage.client(gateway)
    client.send(GET)
    assert.is(await client.untilClosed(), '')
    for (const waiting of silent) assert.is(await waiting.untilClosed(), '')
  },
)

admission(
  'closes refused TLS connections before the handshake, and releases the count of others',
  async () => {
    const pem = stage.add(new PemFiles())
    const tls = `tls: { cert: ${pem.cert}, key: ${pem.key} }`
    const gateway = await gatewayWith(
      'maxConnectionsPerAddress: 1',
      `gateways: { default: { port: \${PORT}, address: 127.0.0.1, listeners: [{ name: any, ${tls} }] } }\n`,
    )
    // A connection without a handshake is counted, too.
    const silent = await stage.client(gateway)
    assert.not(await completesHandshake(gateway))
    assert.is(refusalCount(gateway, 'maxConnectionsPerAddress'), 1)
    silent.destroy()
    for (let times = 3; times > 0; times--) {
      let tries = 0
      while (!(await completesHandshake(gateway)))
        assert.ok(++tries < 1000, 'the connection count is not released')
    }
  },
)

/** Whether a TLS handshake completes; closes the connection. */
async function completesHandshake({ port }: RunningGateway): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const settled = new Promise<boolean>((resolve) => {
    socket.once('secureConnect', () => resolve(true))
    socket.once('close', () => resolve(false))
    socket.on('error', () => {})
  })
  const isDone = await deadline(settled, 30_000, 'a handshake or a close')
  socket.destroy()
  return isDone
}

admission.run()
