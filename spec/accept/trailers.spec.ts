// Request trailers: a header that a policy reads or sets must not arrive after the body.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { Reloading } from '../support/reloading.ts'

const trailers = suite('accept/trailers')
const stage = new Stage()
trailers.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const WHOLE = /\r\n0\r\n([^]*)\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const ANSWERS: Step[] = [{ wait: WHOLE }, { send: OK }]
const HOLDS: Step[] = [{ wait: HEAD }, { hold: true }]

const POLICIES = [
  'apiKey: { mode: optional, location: { header: { name: x-key } }, keys: [{ key: k }] }',
  'jwtAuth: { issuer: "http://i.test", jwks: \'{"keys":[{"kid":"a","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}\', location: { expression: \'request.headers["X-Tok"]\' } }',
  'requestHeaderModifier: { remove: [x-internal], set: { X-Tenant: acme }, add: { x-more: y } }',
  'transformations: { request: { set: { x-user: "\'a\'" }, remove: [x-role] } }',
  'backendAuth: { key: { value: b, location: { header: { name: x-backend } } } }',
].join(', ')

const post = (trailer: string): string =>
  `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${trailer}\r\n\r\n`

const FIXED = [
  'Authorization: Bearer x',
  'cookie: a=1',
  'proxy-authorization: x',
  'x-api-key: k',
  'X-Forwarded-For: 1.1.1.1',
  'forwarded: for=1.1.1.1',
  'content-type: a/b',
  'content-encoding: gzip',
  'if-match: a',
]
const CONFIGURED = [
  'x-key: k',
  'x-tok: t',
  'x-internal: 1',
  'X-TENANT: evil',
  'x-more: z',
  'x-user: root',
  'x-role: admin',
  'x-backend: b',
]

for (const trailer of [...FIXED, ...CONFIGURED])
  trailers(`refuses a request with the trailer ${trailer}`, async () => {
    const backend = await stage.backend(HOLDS)
    const gateway = await stage.gateway(routeTo(backend, POLICIES))
    const client = await stage.client(gateway)
    client.send(post(trailer))
    await client.until(/forbidden trailer/)
    assert.match(client.text, 'HTTP/1.1 400 ')
    assert.not.match(backend.received, WHOLE)
    assert.equal(await gateway.outcomes(1), ['client_error'])
  })

trailers('forwards trailers that no policy reads or sets', async () => {
  const backend = await stage.backend(ANSWERS)
  const gateway = await stage.gateway(routeTo(backend, POLICIES))
  const client = await stage.client(gateway)
  client.send(post('x-checksum: 1'))
  await client.until(/ok$/)
  assert.match(backend.received, '0\r\nx-checksum: 1\r\n\r\n')
})

trailers('relays any response trailer that is not a framing field', async () => {
  const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-user: a\r\n\r\n`
  const backend = await stage.backend([{ wait: HEAD }, { send: answer }])
  const gateway = await stage.gateway(routeTo(backend, POLICIES))
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/x-user: a\r\n\r\n$/)
})

for (const name of ['authorization', 'x-forwarded-for', 'x-user', 'x-tok'])
  trailers(`refuses an HTTP/2 request with the trailer ${name}`, async () => {
    const backend = await stage.backend(HOLDS)
    const gateway = await stage.gateway(routeTo(backend, POLICIES))
    const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
    const request = client.request(
      { ':method': 'POST' },
      { endStream: false, waitForTrailers: true },
    )
    request.stream.on('wantTrailers', () => request.stream.sendTrailers({ [name]: 'x' }))
    request.stream.end('abc')
    await request.closed()
    assert.is(request.status, 400)
    assert.is(request.body, 'invalid request: forbidden trailer')
    assert.not.match(backend.received, WHOLE)
  })

trailers(
  'guards the header names of the current configuration, on kept connections too',
  async () => {
    const backend = await stage.backend(ANSWERS, HOLDS)
    const text = (name: string): string =>
      routeTo(backend, `requestHeaderModifier: { remove: [${name}] }`)
    const running = stage.add(await Reloading.start(text('x-other')))
    const client = await stage.client(running)
    client.send(post('x-user: a'))
    await client.until(/ok$/)
    await running.change(text('x-user'))
    client.send(post('x-user: b'))
    await client.until(/forbidden trailer/)
    assert.not.match(backend.received, 'x-user: b\r\n\r\n')
  },
)

trailers.run()
