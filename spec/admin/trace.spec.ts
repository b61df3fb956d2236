// /debug/trace: an event stream for each who waits, one request each, and none that slows it down.

import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { NetConnectOpts } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { AdminServer } from '../../lib/admin/server.ts'
import {
  MAX_QUEUED_BYTES,
  MAX_QUEUED_EVENTS,
  TraceStream,
  traceEndpoints,
} from '../../lib/admin/trace.ts'
import { BodySnapshot } from '../../lib/base/trace/body-copy.ts'
import type { Message, TraceEvent } from '../../lib/base/trace/events.ts'
import { MAX_WATCHERS } from '../../lib/base/trace/watchers.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import type { RawClient } from '../support/raw-client.ts'

const admin = suite('admin/trace')
const stage = new Stage()
admin.after.each(() => stage.clear())

const WAIT_MS = 5000
const TICK_MS = 5
const DIRECT = 'routes: [{ policies: { directResponse: { status: 200, body: hi } } }]\n'

interface Scene {
  readonly gateway: RunningGateway
  readonly target: NetConnectOpts
}

async function open(): Promise<Scene> {
  const gateway = await stage.gateway(DIRECT)
  const server = stage.add(new AdminServer(traceEndpoints(gateway.watchers), () => {}))
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

/** The bodies of events, without the chunks around them. */
function eventsIn(text: string): TraceEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as TraceEvent)
}

for (const method of ['POST', 'GET'])
  admin(`${method} is told that it waits, then the request, and then it ends`, async () => {
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
  })

admin('a comment every second shows that it lives', async () => {
  const scene = await open()
  const client = await watch(scene)
  await client.until(/: ready\n\n[^]*: keepalive\n\n[^]*: keepalive\n\n/)
})

admin('an expression picks the request, and others wait for the next', async () => {
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

admin('what is known only later is not there when a request is picked', async () => {
  const scene = await open()
  const client = await watch(scene, 'POST', '?expression=has(response.code)')
  await client.until(/: ready/)
  await ask(scene)
  assert.not.match(client.text, 'data: ')
  assert.is(scene.gateway.watchers.count, 1)
})

admin('400 for an expression that is none, or gives no yes or no', async () => {
  const scene = await open()
  const refusals: readonly [string, RegExp][] = [
    ['request.path ==', /\r\n\r\ninvalid expression: .+ at 1:\d+\n$/],
    ['reqest.path', /\r\n\r\ninvalid expression: unknown name reqest, did you mean request\?/],
    ['1 + 1', /\r\n\r\ninvalid expression: a rule must give bool/],
    ['', /\r\n\r\ninvalid expression: /],
  ]
  for (const [expression, words] of refusals) {
    const query = `?expression=${encodeURIComponent(expression)}`
    const text = await (await watch(scene, 'POST', query)).untilClosed()
    assert.match(text, /^HTTP\/1\.1 400 /)
    assert.match(text, words)
  }
  assert.is(scene.gateway.watchers.count, 0)
})

admin('whoever closes the connection does not wait any more', async () => {
  const scene = await open()
  const gone = await watch(scene)
  await gone.until(/: ready/)
  gone.destroy()
  while (scene.gateway.watchers.count > 0)
    await deadline(new Promise((resolve) => setImmediate(resolve)), WAIT_MS, 'it to be gone')
  const client = await watch(scene)
  await client.until(/: ready/)
  await ask(scene)
  assert.match(await client.untilClosed(), 'requestFinished')
})

admin('503 when too many wait', async () => {
  const scene = await open()
  for (let count = 0; count < MAX_WATCHERS; count++) await (await watch(scene)).until(/: ready/)
  const text = await (await watch(scene)).untilClosed()
  assert.match(text, /^HTTP\/1\.1 503 /)
  assert.match(text, `too many watchers: ${MAX_WATCHERS} wait already\n`)
})

/** A response whose reader takes nothing until it is told to. */
class Stuck extends EventEmitter {
  written: string[] = []
  writableNeedDrain = true
  state: 'open' | 'ended' | 'destroyed' = 'open'

  static stream(maxStallMs = WAIT_MS): [Stuck, TraceStream] {
    const stuck = new Stuck()
    const pace = { keepAliveMs: TICK_MS, maxStallMs }
    const stream = new TraceStream(stuck as unknown as ServerResponse, pace)
    stream.open()
    return [stuck, stream]
  }

  writeHead(): void {}

  write(text: string): void {
    this.written.push(text)
  }

  end(): void {
    this.state = 'ended'
    // As a response has it.
    this.writableNeedDrain = false
  }

  get writableEnded(): boolean {
    return this.state === 'ended'
  }

  destroy(): void {
    this.state = 'destroyed'
    this.emit('close')
  }

  /** It reads on. */
  drain(): void {
    this.writableNeedDrain = false
    this.emit('drain')
  }

  /** Types of what came, with counts of what did not. */
  get types(): string[] {
    return eventsIn(this.written.join('')).map(({ message }) =>
      message.type === 'eventsDropped' ? `dropped ${message.count}` : message.type,
    )
  }
}

function event(message: Message): TraceEvent {
  return { eventStart: null, eventEnd: 7, severity: 'info', message }
}

const STARTED = event({ type: 'requestStarted' })
const FINISHED = event({ type: 'requestFinished', status: 200, error: null })

admin('a reader that takes nothing misses events, and is told how many', () => {
  const [stuck, stream] = Stuck.stream()
  for (let count = 0; count < MAX_QUEUED_EVENTS + 3; count++) stream.event(STARTED)
  stream.event(FINISHED)
  stream.finished()
  stuck.drain()
  assert.is(stuck.types.length, MAX_QUEUED_EVENTS + 2)
  assert.equal(stuck.types.slice(-3), ['requestStarted', 'dropped 3', 'requestFinished'])
  assert.is(stuck.state, 'ended')
  stream.close()
})

admin('bodies count by their size', () => {
  const [stuck, stream] = Stuck.stream()
  const body = (): TraceEvent => {
    const kept = Buffer.alloc((MAX_QUEUED_BYTES / 8) * 3)
    return event(new BodySnapshot('response', kept, kept.length))
  }
  for (let count = 0; count < 4; count++) stream.event(body())
  stream.event(FINISHED)
  stream.finished()
  stuck.drain()
  assert.equal(stuck.types, ['bodySnapshot', 'bodySnapshot', 'dropped 2', 'requestFinished'])
  stream.close()
})

admin('a reader that catches up hears the rest', () => {
  const [stuck, stream] = Stuck.stream()
  for (let count = 0; count <= MAX_QUEUED_EVENTS; count++) stream.event(STARTED)
  stuck.drain()
  stream.event(STARTED)
  stream.finished()
  stuck.emit('drain')
  assert.equal(stuck.types.slice(-2), ['dropped 1', 'requestStarted'])
  stream.close()
})

admin('a reader that is gone is told nothing, and keeps nothing', () => {
  const [stuck, stream] = Stuck.stream()
  stream.event(STARTED)
  stream.close()
  stream.event(STARTED)
  stream.finished()
  stuck.drain()
  assert.equal(stuck.types, [])
  assert.is(stuck.state, 'open')
})

admin('a reader that takes nothing for long is let go', async () => {
  const [stuck, stream] = Stuck.stream(4 * TICK_MS)
  stream.event(STARTED)
  await held(once(stuck, 'close'))
  assert.is(stuck.state, 'destroyed')
  assert.equal(stuck.written, [': ready\n\n'])
})

admin(
  'a reader that does not take the end is let go, and nothing is written behind that',
  async () => {
    const [stuck, stream] = Stuck.stream(4 * TICK_MS)
    stuck.drain()
    stream.event(FINISHED)
    stream.finished()
    await held(once(stuck, 'close'))
    assert.equal(stuck.types, ['requestFinished'])
    assert.is(stuck.state, 'destroyed')
  },
)

class Unshown extends BodySnapshot {
  override get body(): string {
    throw new RangeError('Invalid string length')
  }
}

admin('a body that cannot be shown is told without it, and counted', () => {
  const [stuck, stream] = Stuck.stream()
  stream.event(event(new Unshown('response', Buffer.from('a'), 1)))
  stream.event(FINISHED)
  stream.finished()
  stuck.drain()
  assert.equal(stuck.types, ['bodySnapshot', 'dropped 1', 'requestFinished'])
  const [{ message }] = eventsIn(stuck.written.join('')) as [TraceEvent]
  assert.equal(message, {
    type: 'bodySnapshot',
    stage: 'response',
    body: '',
    bytes: 1,
    truncated: true,
  })
  stream.close()
})

/** The timers of a stream keep no process alive: the deadline does. */
async function held<T>(promise: Promise<T>): Promise<T> {
  return deadline(promise, WAIT_MS, 'the reader to be let go')
}

admin.run()
