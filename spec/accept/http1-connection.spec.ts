import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { splits } from '../support/splits.ts'

const http1 = suite('accept/http1')
const stage = new Stage()
http1.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const HELLO: Step[] = [
  { wait: HEAD },
  { send: 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello' },
  { again: true },
]
const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n'

http1(
  'serves consecutive requests on one client connection and one backend connection',
  async () => {
    const backend = await stage.backend(HELLO)
    const gateway = await stage.gateway(routeTo(backend))
    const client = await stage.client(gateway)
    for (let i = 0; i < 3; i++) {
      client.send(GET)
      const text = await client.until(/hello$/)
      assert.is(client.take(text.length), 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')
    }
    assert.is(backend.received, GET.repeat(3))
    assert.is(backend.connections.length, 1)
  },
)

http1('answers pipelined requests in order, each with its own bytes', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na' },
    { wait: HEAD },
    { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n' },
    { wait: HEAD },
    { send: 'HTTP/1.1 204 No Content\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send(GET.repeat(3))
  assert.is(
    await client.until(/204 No Content\r\n\r\n/),
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na' +
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n' +
      'HTTP/1.1 204 No Content\r\n\r\n',
  )
})

http1('forwards a pipelined request only after the previous one is answered', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { hold: true },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' },
    { again: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  client.send('GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n')
  await backend.until((text) => text.includes('GET /1'))
  assert.not.match(backend.received, 'GET /2')
  backend.release()
  await backend.until((text) => text.includes('GET /2'))
  backend.release()
  await client.until(/200 OK[^]*200 OK/)
  assert.is(backend.connections.length, 1)
})

http1(
  'answers five thousand pipelined requests by a direct response without overflowing the stack',
  async () => {
    const gateway = await stage.gateway(
      'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]',
    )
    const client = await stage.client(gateway)
    const count = 5000
    client.send(GET.repeat(count))
    const text = await client.until((text) => text.split('\r\n\r\nhi').length > count)
    assert.is(text.split('HTTP/1.1 200 OK\r\n').length, count + 1)
    assert.is((await gateway.logged(count)).length, count)
  },
)

http1('serves other connections between pipelined requests', async () => {
  const gateway = await stage.gateway(
    'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]',
  )
  const [pipelining, other] = [await stage.client(gateway), await stage.client(gateway)]
  const count = 2000
  pipelining.send(GET.repeat(count))
  other.send('GET /other HTTP/1.1\r\nhost: a\r\n\r\n')
  const paths = (await gateway.logged(count + 1)).map((line) => line['http.path'])
  assert.ok(paths.indexOf('/other') < count / 2, `as number ${paths.indexOf('/other')}`)
})

http1('answers five hundred pipelined requests from a backend', async () => {
  const backend = await stage.backend(HELLO)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  let requests = ''
  for (let i = 0; i < 500; i++) requests += `GET /${i} HTTP/1.1\r\nhost: a.test\r\n\r\n`
  client.send(requests)
  await client.until((text) => text.split('\r\n\r\nhello').length > 500)
  assert.is(backend.received, requests)
})

http1('stops reading pipelined requests while the client does not read the responses', async () => {
  const body = 'x'.repeat(16_000)
  const gateway = await stage.gateway(
    `routes: [{ name: page, policies: { directResponse: { status: 200, body: ${body} } } }]`,
  )
  const client = await stage.client(gateway)
  client.socket.pause()
  const count = 20_000
  client.send(GET.repeat(count))
  // The gateway has stopped when the log does not grow for 50 turns of the event loop.
  let seen = -1
  for (let still = 0; still < 50; still++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (gateway.lines.length !== seen) still = 0
    seen = gateway.lines.length
  }
  // The socket buffers hold some megabytes; twenty thousand responses would be 320.
  assert.ok(seen < count / 10, `${seen} of ${count} answered`)
  client.socket.resume()
  let received = 0
  client.socket.on('data', (bytes) => (received += bytes.length))
  await gateway.logged(seen + 200)
  assert.ok(received > 0)
})

http1('forwards a request byte for byte, at every split', async () => {
  const request = Buffer.from(
    'POST /p?q=1 HTTP/1.1\r\nHost: a.test\r\nX-Odd:  two  words \r\ntransfer-encoding: chunked\r\n\r\n' +
      '3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n',
  )
  const backend = await stage.backend([
    { wait: /0\r\nx-sum: 1\r\n\r\n/ },
    { send: 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n' },
    { again: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  let rounds = 0
  const client = await stage.client(gateway)
  for (const chunks of splits(request)) {
    rounds++
    await client.sendApart(chunks)
    const text = await client.until(HEAD)
    client.take(text.length)
  }
  assert.is(backend.received, request.toString('latin1').repeat(rounds))
})

http1('relays a response byte for byte, at every split', async () => {
  const response = Buffer.from(
    'HTTP/1.1 200 Fine\r\nX-Odd:  two  words \r\ntransfer-encoding: chunked\r\n\r\n' +
      '3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n',
  )
  const script: Step[] = []
  for (const chunks of splits(response)) script.push({ wait: HEAD }, { sendApart: chunks })
  const backend = await stage.backend(script)
  const gateway = await stage.gateway(routeTo(backend))
  const client = await stage.client(gateway)
  for (let round = 0; round < script.length; round += 2) {
    client.send(GET)
    await client.untilBytes(response.length)
    assert.is(client.take(response.length), response.toString('latin1'))
    assert.is(client.text, '')
  }
  assert.is(backend.connections.length, 1)
})

http1.run()
