// What is between us and a backend fails: names that are not found or lead elsewhere, certificates that are no longer good.

import dns from 'node:dns'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Backend } from '../support/backend.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { answerOk, http2Backend } from '../support/http2-backend.ts'
import { PemFiles } from '../support/pem-files.ts'
import { EXPIRED_CERT, EXPIRED_KEY, OTHER_CERT, OTHER_KEY } from '../support/tls-pair.ts'
import { HEAD, OK, ask, leaves, logs, until, leavesNoHandle } from './scene.ts'
import { reportSkip } from '../support/report-skip.ts'

const faults = suite('faults of the network')
const stage = new Stage()
leavesNoHandle(faults)

/** Names as a spec wants them; an error is told instead of an address, and null is silence. */
const names = new Map<string, string | Error | null>()
type Done = (error: Error | null, found?: string | { address: string; family: number }[]) => void
const lookup = dns.lookup
const asked: string[] = []

function lookUp(name: string, options: { all?: boolean }, done: Done): void {
  const found = names.get(name)
  if (found === undefined) return (lookup as (...args: unknown[]) => void)(name, options, done)
  asked.push(name)
  if (found === null) return
  setImmediate(() => {
    if (found instanceof Error) done(found)
    else done(null, options.all === true ? [{ address: found, family: 4 }] : found)
  })
}

faults.before(() => void Object.assign(dns, { lookup: lookUp }))
faults.after(() => void Object.assign(dns, { lookup }))
faults.after.each(async () => {
  names.clear()
  asked.length = 0
  await stage.clear()
})

const SERVE: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]

function faultOf(code: string): Error {
  return Object.assign(new Error(`getaddrinfo ${code}`), { code })
}

function routeToName(port: number, config = ''): string {
  return `${config}routes: [{ name: all, backends: [{ host: "backend.test:${port}" }] }]\n`
}

for (const [code, words] of [
  ['ENOTFOUND', 'name not found'],
  ['EAI_AGAIN', 'name look-up failed'],
] as const)
  faults(`a name that is not found, by ${code}, and is again`, async () => {
    const backend = await stage.backend(SERVE)
    const gateway = await stage.gateway(routeToName(backend.port))
    names.set('backend.test', faultOf(code))
    const body = `upstream call failed: ${words}`
    assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
    await leaves(gateway)
    names.set('backend.test', '127.0.0.1')
    assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
    await leaves(gateway, { idle: 1 })
    await logs(gateway, '503 backend_reset', '200 complete')
  })

faults('a name server that does not answer', async () => {
  names.set('backend.test', null)
  const config = 'config: { backend: { connectTimeout: 100ms } }\n'
  const gateway = await stage.gateway(routeToName(80, config))
  const body = 'upstream call failed: connect timed out'
  assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
  await leaves(gateway)
  await logs(gateway, '503 backend_timeout')
})

/** The same port on another address of this machine; null where there is none. */
async function elsewhere(port: number): Promise<Server | null> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('data', () => socket.write(OK.replace('ok', 'hi')))
  })
  const listening = new Promise<Server | null>((resolve) => {
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.2', () => resolve(server))
  })
  return deadline(listening, 30_000, 'another address')
}

faults('a name that leads elsewhere is followed by the next connection', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: OK },
    { hold: true },
    { close: true },
  ])
  const other = await elsewhere(backend.port)
  if (other === null) return reportSkip('a second address', 'there is no 127.0.0.2')
  stage.add({ close: () => other.close() })
  assert.is((other.address() as AddressInfo).port, backend.port)
  const gateway = await stage.gateway(routeToName(backend.port))
  names.set('backend.test', '127.0.0.1')
  assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
  names.set('backend.test', '127.0.0.2')
  backend.release()
  await leaves(gateway)
  assert.is((await ask(stage, gateway, 'http/1.1')).body, 'hi')
  assert.equal(asked, ['backend.test', 'backend.test'])
  await leaves(gateway, { idle: 1 })
  await gateway.stop()
  await logs(gateway, '200 complete', '200 complete')
})

faults('a name that leads elsewhere is followed under steady traffic, too', async () => {
  const backend = await stage.backend(SERVE)
  const other = await elsewhere(backend.port)
  if (other === null) return reportSkip('a second address', 'there is no 127.0.0.2')
  stage.add({ close: () => other.close() })
  const config = 'config: { backend: { poolMaxAge: 100ms } }\n'
  const gateway = await stage.gateway(routeToName(backend.port, config))
  names.set('backend.test', '127.0.0.1')
  assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
  names.set('backend.test', '127.0.0.2')
  let last = ''
  let count = 1
  for (; last !== 'hi'; count++) last = (await ask(stage, gateway, 'http/1.1')).body
  await gateway.stop()
  await logs(gateway, ...Array.from({ length: count }, () => '200 complete'))
})

faults('so is one of an HTTP/2 backend', async () => {
  const { port, sockets } = await http2Backend(stage, answerOk)
  const config = 'config: { backend: { poolMaxAge: 100ms, poolMaxSize: 1 } }\n'
  const gateway = await stage.gateway(config + routeTo({ port }, 'backendTLS: { insecure: true }'))
  while (sockets.length < 3) assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
})

/** Of a backend that shows this certificate. */
async function secured(cert: string, key: string): Promise<Backend> {
  return stage.add(await Backend.startAt({ tls: { cert, key } }, SERVE))
}

faults('a certificate that has expired', async () => {
  const pem = stage.add(new PemFiles())
  const backend = await secured(EXPIRED_CERT, EXPIRED_KEY)
  const gateway = await stage.gateway(routeTo(backend, `backendTLS: { root: ${pem.expiredCert} }`))
  const body = 'upstream call failed: CERT_HAS_EXPIRED'
  assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
  assert.is(backend.received, '')
  await leaves(gateway)
  await logs(gateway, '503 backend_reset')
})

faults('a certificate of somebody else', async () => {
  const pem = stage.add(new PemFiles())
  const backend = await secured(OTHER_CERT, OTHER_KEY)
  const gateway = await stage.gateway(routeTo(backend, `backendTLS: { root: ${pem.otherCert} }`))
  const body = 'upstream call failed: ERR_TLS_CERT_ALTNAME_INVALID'
  assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
  assert.is(backend.received, '')
  await leaves(gateway)
  await logs(gateway, '503 backend_reset')
})

faults('a backend that speaks no TLS where it should', async () => {
  const backend = await stage.backend([{ wait: 1 }, { send: 'HTTP/1.1 400 Bad Request\r\n\r\n' }])
  const gateway = await stage.gateway(routeTo(backend, 'backendTLS: { insecure: true }'))
  const { status, end } = await ask(stage, gateway, 'http/1.1')
  assert.equal([status, end], [503, 'whole'])
  assert.not.match(backend.received, 'GET')
  await leaves(gateway)
  await logs(gateway, '503 backend_reset')
})

faults('a handshake that never ends', async () => {
  const backend = await stage.backend([])
  const config = 'config: { backend: { connectTimeout: 100ms } }\n'
  const gateway = await stage.gateway(config + routeTo(backend, 'backendTLS: { insecure: true }'))
  const body = 'upstream call failed: connect timed out'
  assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
  await leaves(gateway)
  await backend.connections[0]!.untilClosed()
  await logs(gateway, '503 backend_timeout')
})

faults('a client that leaves while a name is looked up, or in a handshake', async () => {
  const backend = await stage.backend([])
  names.set('backend.test', null)
  const texts = [routeToName(80), routeTo(backend, 'backendTLS: { insecure: true }')]
  for (const text of texts) {
    const gateway = await stage.gateway(text)
    const client = await stage.client(gateway)
    client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await until(() => gateway.live.requests.forward === 1, 'a call')
    client.destroy()
    await leaves(gateway)
    await logs(gateway, '499 client_closed')
  }
  await backend.connections[0]?.untilClosed()
})

faults.run()
