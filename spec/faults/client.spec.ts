// Clients that fail: what they still receive, what their backend receives, and that nothing remains.

import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Backend, Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { PREFACE, fieldLines, frame, END_HEADERS, END_STREAM } from '../support/http2-frames.ts'
import type { RawClient } from '../support/raw-client.ts'
import {
  HEAD,
  OK,
  assertNothingLeft,
  assertLogged,
  parseSeen,
  requestTextOf,
  until,
  assertNoHandleLeft,
} from './fault-support.ts'

const faults = suite('faults of clients')
const stage = new Stage()
assertNoHandleLeft(faults)
faults.after.each(() => stage.clear())

const GET = requestTextOf()
const UPLOAD = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\npart'
const STREAM = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n'

/** The phase of a request when its client fails: what was sent, what the backend does, and how the phase is detected. */
interface Phase {
  readonly sent: string
  readonly script: Step[]
  readonly isReached: (gateway: RunningGateway, backend: Backend) => boolean
  /** Null if no request has started and so none is logged. */
  readonly logged: string[]
}

const PHASES: Record<string, Phase> = {
  'before a head': {
    sent: '',
    script: [],
    isReached: ({ live }) => live.listeners[0]!.open === 1,
    logged: [],
  },
  'in the middle of a head': {
    sent: GET.slice(0, 20),
    script: [],
    isReached: ({ live }) => live.listeners[0]!.bytesIn === 20,
    logged: [],
  },
  'in the middle of an upload': {
    sent: UPLOAD,
    script: [{ wait: /part/ }, { hold: true }],
    isReached: (_gateway, { received }) => received.endsWith('part'),
    logged: ['499 client_closed'],
  },
  'while it waits for a response': {
    sent: GET,
    script: [{ wait: HEAD }, { hold: true }],
    isReached: (_gateway, { received }) => HEAD.test(received),
    logged: ['499 client_closed'],
  },
  'in the middle of a response': {
    sent: GET,
    script: [{ wait: HEAD }, { send: STREAM }, { hold: true }],
    isReached: ({ live }) => live.requests.relay === 1,
    logged: ['200 client_closed'],
  },
}

const WAYS: Record<string, (client: RawClient) => void> = {
  closes: (client) => client.destroy(),
  resets: (client) => client.reset(),
  'half-closes': (client) => client.halfClose(),
}

for (const [when, phase] of Object.entries(PHASES))
  for (const [how, leave] of Object.entries(WAYS))
    faults(`a client that ${how} ${when}`, async () => {
      const backend = await stage.backend(phase.script)
      const gateway = await stage.gateway(routeTo(backend))
      const client = await stage.client(gateway)
      if (phase.sent !== '') client.send(phase.sent)
      await until(() => phase.isReached(gateway, backend), `a client ${when}`)
      leave(client)
      await assertNothingLeft(gateway)
      for (const connection of backend.connections) await connection.untilClosed()
      await assertLogged(gateway, ...phase.logged)
    })

for (const [when, phase] of Object.entries(PHASES).slice(2))
  for (const how of ['resets its stream', 'closes its connection'] as const)
    faults(`an HTTP/2 client that ${how} ${when}`, async () => {
      const backend = await stage.backend(phase.script)
      const gateway = await stage.gateway(routeTo(backend))
      const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
      const isUpload = phase.sent === UPLOAD
      const head = isUpload ? { ':method': 'POST', 'content-length': '100' } : { ':path': '/' }
      const { stream } = client.request(head, { endStream: !isUpload })
      if (isUpload) stream.write('part')
      await until(() => phase.isReached(gateway, backend), `a client ${when}`)
      if (how === 'closes its connection') client.close()
      else stream.close(constants.NGHTTP2_CANCEL)
      await assertNothingLeft(gateway, { clients: how === 'closes its connection' ? 0 : 1 })
      for (const connection of backend.connections) await connection.untilClosed()
      await assertLogged(gateway, ...phase.logged)
    })

interface Stall {
  readonly limit: string
  readonly sent: string
  readonly body: string
}

const STALLS: Record<string, Stall> = {
  'in its head': { limit: 'headTimeout', sent: GET.slice(0, 20), body: 'request head timeout' },
  'in its upload': { limit: 'bodyIdleTimeout', sent: UPLOAD, body: 'request body timeout' },
}

for (const [where, { limit, sent, body }] of Object.entries(STALLS))
  faults(`a client that stalls ${where}`, async () => {
    const backend = await stage.backend([])
    const gateway = await stage.gateway(http(`${limit}: 100ms`) + routeTo(backend))
    const client = await stage.client(gateway)
    client.send(sent)
    assert.equal(parseSeen(await client.untilClosed()), { status: 408, body, end: 'whole' })
    client.destroy()
    await assertNothingLeft(gateway)
    for (const connection of backend.connections) await connection.untilClosed()
    await assertLogged(gateway, '408 idle')
  })

faults('a client that sends its head byte by byte gets 408', async () => {
  const gateway = await stage.gateway(http('headTimeout: 100ms') + routeTo({ port: 1 }))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nx: ')
  const trickle = setInterval(() => client.send('x'), 10)
  stage.add({ close: () => clearInterval(trickle) })
  assert.is(parseSeen(await client.untilClosed()).status, 408)
  client.destroy()
  await assertNothingLeft(gateway)
  await assertLogged(gateway, '408 idle')
})

faults('a client that sends a whole request byte by byte is served', async () => {
  const backend = await stage.backend([{ wait: /0123456789/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  const text = requestTextOf({ body: '0123456789' })
  await client.sendApart(text.split('').map((letter) => Buffer.from(letter)))
  assert.is(parseSeen(await client.until(/ok$/)).status, 200)
  client.destroy()
  await assertNothingLeft(gateway, { idle: 1 })
  await assertLogged(gateway, '200 complete')
})

faults(
  'a client that does not read its response is cut, and its backend connection with it',
  async () => {
    const backend = await stage.backend([
      { wait: HEAD },
      { send: 'HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n' },
      { send: Buffer.alloc(30_000_000) },
    ])
    const gateway = await stage.gateway(http('responseIdleTimeout: 100ms') + routeTo(backend))
    const client = await stage.client(gateway)
    client.socket.pause()
    client.send(GET)
    await assertNothingLeft(gateway)
    await backend.connections[0]!.untilClosed()
    await assertLogged(gateway, '200 idle')
  },
)

for (const [what, garbage] of Object.entries({
  'garbage after a request': '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n',
  'the preface of HTTP/2 after a request': PREFACE.toString('latin1'),
  'a head with a bad name after a request': 'GET / HTTP/1.1\r\nhost : a\r\n\r\n',
}))
  faults(`a client that sends ${what} gets its response first`, async () => {
    const backend = await stage.backend([{ wait: HEAD }, { hold: true }, { send: OK }])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(GET + garbage)
    await until(() => HEAD.test(backend.received), 'the request')
    backend.release()
    const [first, second] = (await client.untilClosed()).split('ok')
    assert.match(first!, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(second!, /^HTTP\/1\.1 (?:400|505) /)
    client.destroy()
    assert.is(backend.received, GET)
    await assertNothingLeft(gateway, { idle: 1 })
    const [, refused] = await gateway.logged(2)
    assert.is(refused!['outcome'], 'client_error')
  })

// nghttp2 stops reading and node emits no event, even when the client disconnects.
faults('an HTTP/2 client that sends garbage after a request is disconnected', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(http('http1IdleTimeout: 200ms') + routeTo(backend))
  const client = await stage.client(gateway)
  const fields = [':method GET', ':scheme http', ':path /', ':authority a']
  const lines = fieldLines(...fields.map((field) => field.split(' ') as [string, string]))
  const request = frame('headers', END_HEADERS | END_STREAM, 1, lines)
  client.send(Buffer.concat([PREFACE, frame('settings', 0, 0), request]))
  await until(() => HEAD.test(backend.received), 'the request')
  client.send(GET)
  assert.match(await client.untilClosed(), /too large frame size/)
  await assertNothingLeft(gateway)
  await backend.connections[0]!.untilClosed()
  await assertLogged(gateway, '499 client_closed')
})

function http(fields: string): string {
  return `frontendPolicies: { http: { ${fields} } }\n`
}

faults.run()
