// Ports during a reload: opened, kept or drained, completely or not at all.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { parseConfig } from '../../lib/config/load.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { Reloading } from '../support/reloading.ts'
import { CERT, KEY, OTHER_CERT, OTHER_KEY } from '../support/tls-pair.ts'

const WAIT_MS = 30_000
const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const STREAM: Step[] = [
  { wait: HEAD },
  { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n' },
  { hold: true },
  { send: '4\r\nmore\r\n0\r\n\r\n' },
]

const ports = suite('accept/listener set')
const stage = new Stage()
ports.after.each(() => stage.clear())

async function start(text: string): Promise<Reloading> {
  return stage.add(await Reloading.start(text))
}

/** The fields of each gateway in YAML flow form; all gateways have the same response. */
function config(gateways: Record<string, string>, answer = 'here'): string {
  const lines = Object.entries(gateways).map(([name, fields]) => `  ${name}: { ${fields} }\n`)
  const names = Object.keys(gateways).join(', ')
  return `gateways:\n${lines.join('')}routes: [{ gateways: [${names}], policies: { directResponse: { status: 200, body: ${answer} } } }]\n`
}

const FIRST = 'port: ${PORT}, address: 127.0.0.1'

/** The response on a new connection, or the error of connecting. */
async function ask(port: number, host = '127.0.0.1'): Promise<string> {
  try {
    const client = await stage.client({ port, host })
    client.send(GET)
    await client.until(/\r\n\r\n[^\r\n]+\n?$/)
    return client.text.replace(/^[^]*\r\n\r\n/, '').trimEnd()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

/** Occupies a port from outside the gateway. */
async function occupyPort(port: number, host: string): Promise<Server> {
  const server = createServer()
  server.listen(port, host)
  await deadline(once(server, 'listening'), WAIT_MS, 'a port to occupy')
  return stage.add(server)
}

/** The common name in the certificate of a new handshake. */
async function certificateName(port: number, servername?: string): Promise<string | undefined> {
  const socket = connectTls({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...(servername !== undefined && { servername }),
  })
  try {
    await deadline(once(socket, 'secureConnect'), WAIT_MS, 'a TLS handshake')
    return [socket.getPeerCertificate().subject.CN].flat()[0]
  } finally {
    socket.destroy()
  }
}

ports('keeps the socket and the connections of a port that stays, with new limits', async () => {
  const gateway = await start(config({ default: FIRST }, 'one'))
  const client = await stage.client({ port: gateway.port, host: '127.0.0.1' })
  client.send(GET)
  await client.until(/one$/)
  client.take(client.text.length)
  const limits = 'frontendPolicies: { http: { maxHeadBytes: 1024 } }\n'
  await gateway.change(limits + config({ default: FIRST }, 'two'))
  client.send(GET)
  await client.until(/two$/)
  client.take(client.text.length)
  client.send(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(2000)}\r\n\r\n`)
  assert.match(await client.untilClosed(), /^HTTP\/1\.1 431 /)
  assert.is((await gateway.logged('started bind')).length, 1)
})

ports('has opened a new port when the reload resolves', async () => {
  const gateway = await start(config({ default: FIRST }))
  const port = await freePort()
  assert.is(await ask(port), 'ECONNREFUSED')
  await gateway.change(config({ default: FIRST, second: `port: ${port}, address: 127.0.0.1` }))
  assert.is(await ask(port), 'here')
  assert.is(await ask(gateway.port), 'here')
})

ports('stops accepting on a removed port, and finishes its requests', async () => {
  const backend = await stage.backend(STREAM)
  const port = await freePort()
  const two = `gateways: { default: { ${FIRST} }, second: { port: ${port}, address: 127.0.0.1 } }\n`
  const both = routeTo(backend).replace('{ name: all', '{ name: all, gateways: [default, second]')
  const gateway = await start(two + both)
  const running = await stage.client({ port, host: '127.0.0.1' })
  const idle = await stage.client({ port, host: '127.0.0.1' })
  running.send(GET)
  await running.until(/some\r\n$/)
  await gateway.change(routeTo(backend))
  await idle.untilClosed()
  assert.is(await ask(port), 'ECONNREFUSED')
  backend.release()
  assert.match(await running.untilClosed(), /more\r\n0\r\n\r\n$/)
  const [line] = await gateway.logged('request')
  assert.is(line?.['outcome'], 'complete')
})

ports('cuts requests on a removed port at the drain deadline', async () => {
  const backend = await stage.backend(STREAM)
  const port = await freePort()
  const time = 'config: { connectionTerminationDeadline: 20ms }\n'
  const gateway = await start(
    `${time}gateways: { default: { port: ${port}, address: 127.0.0.1 } }\n${routeTo(backend)}`,
  )
  const running = await stage.client({ port, host: '127.0.0.1' })
  running.send(GET)
  await running.until(/some\r\n$/)
  await gateway.change(time + config({ default: FIRST }))
  assert.not.match(await running.untilClosed(), /more/)
  await gateway.logged('drain deadline exceeded, closing bind')
  const [line] = await gateway.logged('request')
  assert.is(line?.['outcome'], 'shutdown')
})

ports(
  'refuses the whole reload if a port cannot be opened, without affecting connections',
  async () => {
    const gateway = await start(config({ default: FIRST }, 'one'))
    const [free, taken] = [await freePort(), await freePort()]
    await occupyPort(taken, '127.0.0.1')
    const client = await stage.client({ port: gateway.port, host: '127.0.0.1' })
    const problems = await gateway.refusal(
      config(
        {
          default: 'port: ${PORT}, address: 127.0.0.2',
          free: `port: ${free}, address: 127.0.0.1`,
          taken: `port: ${taken}, address: 127.0.0.1`,
        },
        'two',
      ),
    )
    assert.equal(problems, [
      `cannot listen on 127.0.0.1:${taken} (gateways.taken.port): it is in use by another process`,
    ])
    assert.is(await ask(free), 'ECONNREFUSED')
    client.send(GET)
    await client.until(/one$/)
    assert.is(gateway.generation, 1)
  },
)

ports('reopens a port that cannot move to another address', async () => {
  const gateway = await start(config({ default: FIRST }, 'one'))
  await occupyPort(gateway.port, '127.0.0.2')
  const problems = await gateway.refusal(
    config({ default: 'port: ${PORT}, address: 127.0.0.2' }, 'two'),
  )
  assert.is(problems.length, 1)
  await gateway.logged('started bind', 2)
  assert.is(await ask(gateway.port), 'one')
})

ports('logs a port that cannot be reopened, and opens it with the next reload', async () => {
  const gateway = await start(config({ default: FIRST }, 'one'))
  await occupyPort(gateway.port, '127.0.0.2')
  const thief = stage.add(createServer())
  // Between closing and opening, another process opens the port.
  gateway.onLine = ({ message }) => {
    if (message === 'draining bind') process.nextTick(() => thief.listen(gateway.port, '127.0.0.1'))
  }
  await gateway.refusal(config({ default: 'port: ${PORT}, address: 127.0.0.2' }, 'two'))
  await gateway.logged('cannot reopen bind')
  gateway.onLine = () => {}
  thief.close()
  await gateway.change(config({ default: FIRST }, 'three'))
  assert.is(await ask(gateway.port), 'three')
})

ports('moves a port to another address', async () => {
  const gateway = await start(config({ default: FIRST }))
  await gateway.change(config({ default: 'port: ${PORT}, address: 127.0.0.2' }))
  assert.is(await ask(gateway.port), 'ECONNREFUSED')
  assert.is(await ask(gateway.port, '127.0.0.2'), 'here')
})

ports('changes a port from HTTP to HTTPS and back', async () => {
  const gateway = await start(config({ default: FIRST }))
  const idle = await stage.client({ port: gateway.port, host: '127.0.0.1' })
  gateway.folder.write('cert.pem', CERT)
  gateway.folder.write('key.pem', KEY)
  await gateway.change(config({ default: `${FIRST}, tls: { cert: cert.pem, key: key.pem }` }))
  await idle.untilClosed()
  assert.is(await certificateName(gateway.port), 'localhost')
  await gateway.change(config({ default: FIRST }))
  assert.is(await ask(gateway.port), 'here')
})

ports('uses a new certificate for new handshakes when its files change', async () => {
  const gateway = await start(config({ default: FIRST }))
  const { folder } = gateway
  folder.mount('1', { 'cert.pem': CERT, 'key.pem': KEY })
  folder.link('cert.pem', 'key.pem')
  const tls = 'tls: { cert: cert.pem, key: key.pem }'
  await gateway.change(
    config({
      default: `${FIRST}, listeners: [{ hostname: '*.a.test', ${tls} }, { name: any, ${tls} }]`,
    }),
  )
  assert.is(await certificateName(gateway.port), 'localhost')
  folder.mount('2', { 'cert.pem': OTHER_CERT, 'key.pem': OTHER_KEY })
  await gateway.logged('reloaded config', 2)
  assert.is(await certificateName(gateway.port), 'example.test')
  assert.is(await certificateName(gateway.port, 'x.a.test'), 'example.test')
  assert.is((await gateway.logged('started bind')).length, 2)
})

ports('refuses a certificate without its key, and keeps the old one', async () => {
  const gateway = await start(config({ default: FIRST }))
  const { folder } = gateway
  folder.write('cert.pem', CERT)
  folder.write('key.pem', KEY)
  await gateway.change(config({ default: `${FIRST}, tls: { cert: cert.pem, key: key.pem }` }))
  folder.write('cert.pem', OTHER_CERT)
  await gateway.logged('Failed to reload config')
  assert.is(await certificateName(gateway.port), 'localhost')
  folder.write('key.pem', OTHER_KEY)
  await gateway.logged('reloaded config', 2)
  assert.is(await certificateName(gateway.port), 'example.test')
})

ports('logs a port that the system chose, and keeps it', async () => {
  const any = 'port: 0, address: 127.0.0.1'
  const gateway = await start(config({ default: any }, 'one'))
  const [line] = await gateway.logged('started bind')
  const port = Number(line?.['port'])
  assert.is(await ask(port), 'one')
  await gateway.change(config({ default: any }, 'two'))
  assert.is(await ask(port), 'two')
})

ports('leaves no port open when a stop overtakes a reload', async () => {
  const gateway = await start(config({ default: FIRST }))
  const [one, two] = [await freePort(), await freePort()]
  const text = config({
    one: `port: ${one}, address: 127.0.0.1`,
    two: `port: ${two}, address: 127.0.0.1`,
  })
  const reloaded = gateway.gateway.reload(parseConfig(text, { file: 'c.yaml' })).then(
    () => 'taken',
    (error: Error) => error.message,
  )
  await gateway.stop()
  assert.is(await deadline(reloaded, WAIT_MS, 'a reload'), 'the gateway is stopping')
  for (const port of [gateway.port, one, two]) assert.is(await ask(port), 'ECONNREFUSED')
})

ports.run()
