// /debug/trace: an event stream for each waiting client, with one request, which does not slow that request down.

import type { NetConnectOpts } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { AdminServer } from '../../lib/admin/admin-server.ts'
import { createTraceEndpoints } from '../../lib/admin/admin-endpoints.ts'
import { MAX_TRACE_WATCHERS } from '../../lib/core/bounds.ts'
import type { TraceEvent } from '../../lib/core/trace-events.ts'
import { startTrace } from '../../lib/trace/trace-watchers.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const admin = suite('admin/trace')
const stage = new Stage()
admin.after.each(() => stage.clear())

const WAIT_MS = 30_000
const DIRECT = 'routes: [{ policies: { directResponse: { status: 200, body: hi } } }]\n'

interface Scene {
  readonly gateway: RunningGateway
  readonly target: NetConnectOpts
}

async function open(): Promise<Scene> {
  const gateway = await stage.gateway(DIRECT)
  const endpoints = createTraceEndpoints((source) => startTrace(gateway.watchers, source))
  const server = stage.add(new AdminServer(endpoints, () => {}))
  const port = await freePort()
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const
  await deadline(server.listen(address), WAIT_MS, 'the admin interface to listen')
  return { gateway, target: { port, host: '127.0.0.1' } }
}

async function watch({ target }: Scene, method = 'POST', query = ''): Promise<RawClient> {
  const client = await stage.client(target)
  client.send(
    `${method} /debug/trace${query} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n` +
      'connection: close\r\n\r\n',
  )
  return client
}

async function ask({ gateway }: Scene, path = '/'): Promise<void> {
  const client = await stage.client(gateway)
  client.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  await client.until(/hi$/)
}

/** The bodies of events, without the chunked framing. */
function eventsIn(text: string): TraceEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as TraceEvent)
}

for (const method of ['POST', 'GET'])
  admin(
    `${method} gets a comment while it waits, then the request, and then the stream ends`,
    async () => {
      const scene = await open()
      const client = await watch(scene, method)
      const head = await client.until(/: ready\n\n/)
      assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(head, /\r\ncontent-type: text\/event-stream\r\n/i)
      assert.match(head, /\r\ncache-control: no-cache\r\n/i)
      await ask(scene)
      const text = await client.untilClosed()
      assert.match(text, /\r\n0\r\n\r\n$/)
      const types = eventsIn(text).map(({ message }) => message.type)
      assert.is(types[0], 'requestStarted')
      assert.is(types.at(-1), 'requestFinished')
      assert.not.match(text, /^(?:event|id):/m)
    },
  )

admin('sends a keep-alive comment every second', async () => {
  const scene = await open()
  const client = await watch(scene)
  await client.until(/: ready\n\n[^]*: keepalive\n\n[^]*: keepalive\n\n/)
})

admin('an expression selects the request, and other clients wait for the next', async () => {
  const scene = await open()
  const picky = await watch(
    scene,
    'POST',
    `?expression=${encodeURIComponent('request.path == "/b"')}`,
  )
  await picky.until(/: ready/)
  const next = await watch(scene)
  await next.until(/: ready/)
  await ask(scene, '/a')
  assert.match(await next.untilClosed(), '"path":"/a"')
  assert.not.match(picky.text, 'data: ')
  await ask(scene, '/b')
  assert.match(await picky.untilClosed(), '"path":"/b"')
})

admin('values that are known only later are missing when a request is selected', async () => {
  const scene = await open()
  const client = await watch(scene, 'POST', '?expression=has(response.code)')
  await client.until(/: ready/)
  await ask(scene)
  assert.not.match(client.text, 'data: ')
  assert.is(scene.gateway.watchers.count, 1)
})

admin('answers 400 for an invalid expression, or one that is not boolean', async () => {
  const scene = await open()
  const refusals: readonly [string, RegExp][] = [
    ['request.path ==', /\r\n\r\ninvalid expression: .+ at 1:\d+\n$/],
    ['reqest.path', /\r\n\r\ninvalid expression: unknown name reqest, did you mean request\?/],
    ['1 + 1', /\r\n\r\ninvalid expression: the expression must return bool/],
    ['', /\r\n\r\ninvalid expression: /],
  ]
  for (const [expression, pattern] of refusals) {
    const query = `?expression=${encodeURIComponent(expression)}`
    const text = await (await watch(scene, 'POST', query)).untilClosed()
    assert.match(text, /^HTTP\/1\.1 400 /)
    assert.match(text, pattern)
  }
  assert.is(scene.gateway.watchers.count, 0)
})

admin('a client that closes the connection no longer waits', async () => {
  const scene = await open()
  const gone = await watch(scene)
  await gone.until(/: ready/)
  gone.destroy()
  await until('it to be gone', () => scene.gateway.watchers.count === 0)
  const client = await watch(scene)
  await client.until(/: ready/)
  await ask(scene)
  assert.match(await client.untilClosed(), 'requestFinished')
})

admin('answers 503 when too many clients wait', async () => {
  const scene = await open()
  for (let count = 0; count < MAX_TRACE_WATCHERS; count++)
    await (await watch(scene)).until(/: ready/)
  const text = await (await watch(scene)).untilClosed()
  assert.match(text, /^HTTP\/1\.1 503 /)
  assert.match(
    text,
    `too many watchers: ${MAX_TRACE_WATCHERS} wait already (config.trace.maxWatchers)\n`,
  )
})

admin.run()
