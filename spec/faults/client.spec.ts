// Clients that fail: what they still hear, what their backend hears of it, and that nothing of them is left.

import { constants } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Backend, Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { PREFACE, fieldLines, frame, END_HEADERS, END_STREAM } from '../support/http2-frames.ts'
import type { RawClient } from '../support/raw-client.ts'
import { HEAD, OK, leaves, logs, seenIn, textOf, until, leavesNoHandle } from './scene.ts'

const faults = suite('faults of clients')
const stage = new Stage()
leavesNoHandle(faults)
faults.after.each(() => stage.clear())

const GET = textOf()
const UPLOAD = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\npart'
const STREAM = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n'

/** Where a request stands when its client fails: what was sent, what the backend does, and how it is known. */
interface Phase {
  readonly sent: string
  readonly script: Step[]
  readonly isReached: (gateway: RunningGateway, backend: Backend) => boolean
  /** No line where no request had begun. */
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
  'while it waits for an answer': {
    sent: GET,
    script: [{ wait: HEAD }, { hold: true }],
    isReached: (_gateway, { received }) => HEAD.test(received),
    logged: ['499 client_closed'],
  },
  'in the middle of an answer': {
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
    faults(`one that ${how} ${when}`, async () => {
      const backend = await stage.backend(phase.script)
      const gateway = await stage.gateway(routeTo(backend))
      const client = await stage.client(gateway)
      if (phase.sent !== '') client.send(phase.sent)
      await until(() => phase.isReached(gateway, backend), `a client ${when}`)
      leave(client)
      await leaves(gateway)
      for (const connection of backend.connections) await connection.untilClosed()
      await logs(gateway, ...phase.logged)
    })

for (const [when, phase] of Object.entries(PHASES).slice(2))
  for (const how of ['resets its stream', 'closes its connection'] as const)
    faults(`one of HTTP/2 that ${how} ${when}`, async () => {
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
      await leaves(gateway, { clients: how === 'closes its connection' ? 0 : 1 })
      for (const connection of backend.connections) await connection.untilClosed()
      await logs(gateway, ...phase.logged)
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
  faults(`one that stalls ${where}`, async () => {
    const backend = await stage.backend([])
    const gateway = await stage.gateway(http(`${limit}: 100ms`) + routeTo(backend))
    const client = await stage.client(gateway)
    client.send(sent)
    assert.equal(seenIn(await client.untilClosed()), { status: 408, body, end: 'whole' })
    client.destroy()
    await leaves(gateway)
    for (const connection of backend.connections) await connection.untilClosed()
    await logs(gateway, '408 idle')
  })

faults('one that trickles its head runs out of time, however often a byte comes', async () => {
  const gateway = await stage.gateway(http('headTimeout: 100ms') + routeTo({ port: 1 }))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nx: ')
  const trickle = setInterval(() => client.send('x'), 10)
  stage.add({ close: () => clearInterval(trickle) })
  assert.is(seenIn(await client.untilClosed()).status, 408)
  client.destroy()
  await leaves(gateway)
  await logs(gateway, '408 idle')
})

faults('one that trickles a whole request is served', async () => {
  const backend = await stage.backend([{ wait: /0123456789/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  const text = textOf({ body: '0123456789' })
  await client.sendApart(text.split('').map((letter) => Buffer.from(letter)))
  assert.is(seenIn(await client.until(/ok$/)).status, 200)
  client.destroy()
  await leaves(gateway, { idle: 1 })
  await logs(gateway, '200 complete')
})

faults('one that takes nothing of its answer is cut, and its backend with it', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n' },
    { send: Buffer.alloc(30_000_000) },
  ])
  const gateway = await stage.gateway(http('responseIdleTimeout: 100ms') + routeTo(backend))
  const client = await stage.client(gateway)
  client.socket.pause()
  client.send(GET)
  await leaves(gateway)
  await backend.connections[0]!.untilClosed()
  await logs(gateway, '200 idle')
})

for (const [what, garbage] of Object.entries({
  'garbage behind a request': '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n',
  'the preface of HTTP/2 behind a request': PREFACE.toString('latin1'),
  'a head with a bad name behind a request': 'GET / HTTP/1.1\r\nhost : a\r\n\r\n',
}))
  faults(`one that sends ${what} has its answer first`, async () => {
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
    await leaves(gateway, { idle: 1 })
    const [, refused] = await gateway.logged(2)
    assert.is(refused!['outcome'], 'client_error')
  })

// nghttp2 reads no more then, and node says nothing, even when the client has gone.
faults('one of HTTP/2 that sends garbage behind a request is hung up on', async () => {
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
  await leaves(gateway)
  await backend.connections[0]!.untilClosed()
  await logs(gateway, '499 client_closed')
})

function http(fields: string): string {
  return `frontendPolicies: { http: { ${fields} } }\n`
}

faults.run()
