import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'

const relay = suite('relay')
const stage = new Stage()
relay.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

relay('sends head and bytes at once, each before the next arrives', async () => {
  const script: Step[] = [{ wait: HEAD }, { send: CHUNKED }, { hold: true }]
  for (let i = 0; i < 5; i++) script.push({ send: `2\r\n${i}\n\r\n` }, { hold: true })
  const backend = await stage.backend([...script, { send: '0\r\n\r\n' }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  let whole = CHUNKED
  assert.is(await client.until(HEAD), whole)
  for (let i = 0; i < 5; i++) {
    backend.release()
    whole += `2\r\n${i}\n\r\n`
    assert.is(await client.untilBytes(whole.length), whole)
  }
  backend.release()
  assert.is(await client.until(/\n0\r\n\r\n$/), `${whole}0\r\n\r\n`)
})

relay('tells proxies not to buffer an event stream', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream; charset=utf-8\r\n' },
    { send: 'cache-control: no-store\r\nx-accel-buffering: yes\r\ncontent-length: 0\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  const text = await client.until(HEAD)
  assert.match(
    client.take(text.length),
    /x-accel-buffering: no\r\ncache-control: no-cache\r\n\r\n$/,
  )
  client.send(GET)
  assert.match(
    await client.until(HEAD),
    /cache-control: no-store\r\nx-accel-buffering: yes\r\ncontent-length: 0\r\n\r\n$/,
  )
})

/** What a backend sends before its connection breaks, and what the client receives. */
const CUTS: [name: string, said: string, seen: RegExp][] = [
  ['of a known length', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome', /\r\n\r\nsome$/],
  ['in the middle of a chunk', `${CHUNKED}9\r\nsome`, /\r\n\r\n9\r\nsome$/],
  ['between two chunks', `${CHUNKED}4\r\nsome\r\n`, /\r\n\r\n4\r\nsome\r\n$/],
  ['before the last line', `${CHUNKED}4\r\nsome\r\n0\r\n`, /4\r\nsome\r\n0\r\n$/],
]

for (const [name, said, seen] of CUTS)
  for (const how of ['reset', 'close'] as const)
    relay(`cuts the client when a body ${name} ends by ${how}`, async () => {
      const last: Step = how === 'reset' ? { reset: true } : { close: true }
      const backend = await stage.backend([{ wait: HEAD }, { send: said }, { hold: true }, last])
      const gateway = await stage.gateway(routeTo(backend))
      const client = await stage.client(gateway)
      client.send(GET + GET)
      await client.until(seen)
      backend.release()
      assert.match(await client.untilClosed(), seen)
      assert.equal(await gateway.outcomes(1), ['backend_reset'])
      assert.is(backend.received, GET)
    })

relay('cuts the client connection when a body until close ends with a reset', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\n\r\nsome' },
    { hold: true },
    { reset: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/some\r\n$/)
  backend.release()
  assert.match(await client.untilClosed(), /4\r\nsome\r\n$/)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

relay('cuts the client connection when a reset arrives together with the last bytes', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\n\r\nsome' },
    { reset: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  assert.match(await client.untilClosed(), /4\r\nsome\r\n$/)
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

relay(
  'relays the valid part before a malformed chunk, also when both arrive together',
  async () => {
    const right = '4\r\nsome\r\n'
    const wrong = 'zz\r\nevil\r\n0\r\n\r\n'
    const scripts: Step[][] = [
      [{ send: CHUNKED }, { hold: true }, { send: right + wrong }],
      [{ hold: true }, { send: CHUNKED + right + wrong }],
    ]
    for (const script of scripts) {
      const backend = await stage.backend([{ wait: HEAD }, ...script])
      const gateway = await stage.gateway(routeTo(backend))
      const client = await stage.client(gateway)
      client.send(GET)
      if (script.length > 2) await client.until(HEAD)
      backend.release()
      assert.is(await client.untilClosed(), CHUNKED + right)
      assert.equal(await gateway.outcomes(1), ['backend_reset'])
    }
  },
)

relay('sends a backend none of the data that arrives with a malformed request chunk', async () => {
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(`${head}4\r\nsome\r\nzz\r\nevil\r\n0\r\n\r\n`)
  assert.match(await client.until(HEAD), /^HTTP\/1\.1 400 /)
  for (const { received } of backend.connections) assert.not.match(received, 'some')
})

relay('cuts the client connection at a malformed chunk, and relays no byte after it', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `${CHUNKED}4\r\nsome\r\n` },
    { hold: true },
    { send: 'zz\r\nevil\r\n0\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/some\r\n$/)
  backend.release()
  assert.not.match(await client.untilClosed(), 'evil')
  await backend.connections[0]!.untilClosed()
  assert.equal(await gateway.outcomes(1), ['backend_reset'])
})

relay('answers 503 when a response head is malformed or truncated', async () => {
  const heads: Record<string, string> = {
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n': 'invalid response',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n': 'invalid response',
    'nonsense\r\n\r\n': 'invalid response',
    'HTTP/1.1 200 OK\r\ncontent-le': 'connection closed',
  }
  for (const [head, words] of Object.entries(heads)) {
    const backend = await stage.backend([{ wait: HEAD }, { send: head }, { close: true }])
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    client.send(GET)
    const text = await client.until(/503 Service Unavailable[^]*\r\n\r\n.+/)
    assert.match(text, `\r\n\r\nupstream call failed: ${words}`)
    assert.equal(await gateway.outcomes(1), ['backend_reset'])
  }
})

relay('answers a client whose body is malformed, and cancels the call', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n')
  await backend.until((text) => text.endsWith('ab\r\n'))
  client.send('zz\r\nevil')
  assert.match(await client.untilClosed(), /^HTTP\/1.1 400 Bad Request\r\n/)
  await backend.connections[0]!.untilClosed()
  assert.not.match(backend.received, 'evil')
  assert.equal(await gateway.outcomes(1), ['client_error'])
})

relay('answers 404 with its own text when no route matches', async () => {
  const gateway = await stage.gateway(
    'routes: [{ name: a, hostnames: [a.test], policies: { directResponse: { status: 200 } } }]',
  )
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: b.test\r\n\r\n')
  const text = await client.until(/route not found$/)
  assert.match(
    text,
    /^HTTP\/1.1 404 Not Found\r\ncontent-type: text\/plain\r\ncontent-length: 15\r\n/,
  )
})

relay.run()
