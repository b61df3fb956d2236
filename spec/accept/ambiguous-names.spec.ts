// Header names with underscores that a backend could read as a header which a policy sets or removes.

import { connect } from 'node:http2'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { Recorder } from '../support/smuggling/recorder.ts'

const ambiguous = suite('accept/ambiguous names')
const stage = new Stage()
ambiguous.after.each(() => stage.clear())

const POLICIES =
  'requestHeaderModifier: { set: { x-user-id: real, x_own: real }, remove: [x-internal] }'
const FIELDS = { 'x_user-id': 'forged', x_internal: 'forged', x_own: 'forged', x_other: 'kept' }

async function sendHttp1(port: number): Promise<void> {
  const client = await stage.client({ port, host: '127.0.0.1' })
  const lines = Object.entries(FIELDS).map(([name, value]) => `${name}: ${value}\r\n`)
  client.send(`GET /first HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`)
  await client.until(/\r\n\r\n/)
}

async function sendHttp2(port: number): Promise<void> {
  const session = connect(`http://127.0.0.1:${port}`)
  stage.add({ close: () => session.destroy() })
  const stream = session.request({ ':path': '/first', ...FIELDS })
  const ended = new Promise((resolve, reject) => stream.on('end', resolve).on('error', reject))
  stream.resume()
  await deadline(ended, 30_000, 'the response')
}

for (const [version, send] of [
  ['HTTP/1', sendHttp1],
  ['HTTP/2', sendHttp2],
] as const) {
  ambiguous(`are dropped by default, ${version}`, async () => {
    const backend = stage.add(await Recorder.start())
    const gateway = await stage.gateway(routeTo(backend, POLICIES))
    await send(gateway.port)
    const { head } = backend.requests[0]!
    assert.not.match(head, /forged/)
    assert.match(head, /x_other: kept\r\n/)
    assert.match(head, /x-user-id: real\r\n/)
    assert.match(head, /x_own: real\r\n/)
  })

  ambiguous(`pass if they are allowed, ${version}`, async () => {
    const backend = stage.add(await Recorder.start())
    const gateway = await stage.gateway(
      `frontendPolicies: { http: { headersWithUnderscores: allow } }\n${routeTo(backend, POLICIES)}`,
    )
    await send(gateway.port)
    assert.match(backend.requests[0]!.head, /x_user-id: forged\r\n/)
  })
}

ambiguous('pass if a policy uses the very name', async () => {
  const backend = stage.add(await Recorder.start())
  const location = 'location: { header: { name: x_key } }'
  const gateway = await stage.gateway(
    routeTo(backend, `apiKey: { mode: strict, keys: [{ key: secret }], ${location} }`),
  )
  const client = await stage.client(gateway)
  client.send('GET /first HTTP/1.1\r\nhost: a\r\nx_key: secret\r\n\r\n')
  await client.until(/HTTP\/1\.1 200 /)
})

ambiguous('are refused as trailers', async () => {
  const backend = stage.add(await Recorder.start())
  const gateway = await stage.gateway(routeTo(backend, POLICIES))
  const client = await stage.client(gateway)
  const head = 'POST /first HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
  client.send(`${head}0\r\nx_user_id: forged\r\n\r\n`)
  await client.until(/HTTP\/1\.1 400 /)
})

ambiguous.run()
