// The connection to a rate limit service: when it is opened, kept, dropped and reopened.

import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EndpointAddress } from '../../../lib/config/config-types.ts'
import type { RateLimitResult } from '../../../lib/enforce/limit/rate-limit-call.ts'
import {
  MAX_RATE_LIMIT_CALLS,
  RateLimitService,
  RateLimitServices,
} from '../../../lib/enforce/limit/rate-limit-service.ts'
import { deadline } from '../../support/deadline.ts'
import { Folder } from '../../support/folder.ts'
import { Lines } from '../../support/rls/lines.ts'
import { answerOk, RawService } from '../../support/rls/raw-service.ts'
import { until } from '../../support/until.ts'

const client = suite('rate limit service')

const REQUEST = {
  domain: 'd',
  descriptors: [{ entries: [{ key: 'k', value: 'v' }], limit: null, hits: null }],
}
const WAIT_MS = 30_000

const closing: { close(): void }[] = []
client.after.each(() => {
  for (const one of closing.splice(0)) one.close()
})

function keep<One extends { close(): void }>(one: One): One {
  closing.unshift(one)
  return one
}

/** A clock that only the spec advances. */
const clock = { at: 0, now: () => clock.at }

function serviceAt(endpoint: EndpointAddress, log = new Lines()): RateLimitService {
  return keep(new RateLimitService(endpoint, log, clock))
}

async function ask(service: RateLimitService, ms = WAIT_MS): Promise<string> {
  return describe(service.query(REQUEST, ms).answer)
}

async function describe(pending: Promise<RateLimitResult>): Promise<string> {
  const result = await deadline(pending, WAIT_MS, 'an answer')
  return 'kind' in result ? `${result.kind}: ${result.reason}` : result.code
}

/** A port with this connection handler. */
async function port(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), WAIT_MS, 'a port')
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  keep({ close })
  const endpoint: EndpointAddress = {
    kind: 'tcp',
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
  }
  return { endpoint, sockets, close }
}

client('opens one connection for all calls with the first call', async () => {
  const raw = keep(await RawService.start(answerOk))
  const service = serviceAt(raw.endpoint)
  assert.equal([service.state, raw.sockets.length], ['idle', 0])
  const calls = Array.from({ length: 20 }, () => ask(service))
  assert.is(service.state, 'connecting')
  for (const call of calls) assert.is(await call, 'ok')
  assert.is(await ask(service), 'ok')
  assert.equal([service.state, raw.sockets.length], ['open', 1])
})

client('connects over unix sockets too', async () => {
  const folder = keep(new Folder())
  const path = `${folder.path}/rls.sock`
  keep(await RawService.start(answerOk, path))
  const service = serviceAt({ kind: 'unix', path })
  assert.is(service.label, `unix:${path}`)
  assert.is(await ask(service), 'ok')
})

client('fails all waiting calls when the connection cannot be opened', async () => {
  const { endpoint, close } = await port(() => {})
  close()
  const service = serviceAt(endpoint)
  const calls = [ask(service), ask(service)]
  for (const call of calls) assert.is(await call, 'broken: ECONNREFUSED')
  assert.is(await ask(service), 'unsent: ECONNREFUSED')
})

client('retries a service that is down with one call after each longer cooldown', async () => {
  const { endpoint, sockets } = await port((socket) => socket.destroy())
  const service = serviceAt(endpoint)
  assert.match(await ask(service), /^broken: /)
  let tries = 1
  for (const rest of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
    assert.is(service.state, 'cooldown')
    clock.at += rest - 1
    assert.match(await ask(service), /^unsent: /)
    assert.is(sockets.length, tries)
    clock.at += 1
    const calls = [ask(service), ask(service)]
    for (const call of calls) assert.match(await call, /^broken: /)
    assert.is(sockets.length, ++tries)
  }
})

client('uses a service that is back, and resets its cooldown', async () => {
  const first = await RawService.start(answerOk)
  const { endpoint } = first
  const service = serviceAt(endpoint)
  assert.is(await ask(service), 'ok')
  const closed = once(first.sockets[0]!, 'close')
  first.close()
  await deadline(closed, WAIT_MS, 'the connection to close')
  for (let failures = 0; failures < 4; failures++) {
    assert.match(await ask(service), /^broken: /)
    clock.at += 2_000
  }
  const second = keep(await RawService.start(answerOk, endpoint.port))
  assert.is(await ask(service), 'ok')
  assert.equal([service.state, second.sockets.length], ['open', 1])
  second.close()
  await deadline(once(second.sockets[0]!, 'close'), WAIT_MS, 'the connection to close')
  assert.match(await ask(service), /^broken: /)
  clock.at += 100
  assert.match(await ask(service), /^broken: /)
})

client('fails when the server does not speak HTTP/2', async () => {
  const { endpoint } = await port((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const service = serviceAt(endpoint)
  assert.match(await ask(service), /^broken: /)
  assert.match(await ask(service), /^unsent: /)
  assert.is(service.state, 'cooldown')
})

client('opens another connection for new calls after GOAWAY', async () => {
  const raw = keep(
    await RawService.start((stream, { streams }) => {
      // The second call completes on the connection that got GOAWAY.
      if (streams.length !== 2) return answerOk(stream)
      stream.session!.goaway()
    }),
  )
  const service = serviceAt(raw.endpoint)
  assert.is(await ask(service), 'ok')
  const slow = ask(service)
  await raw.waitForCalls(2)
  await until('the goaway', () => service.state !== 'open')
  assert.is(service.state, 'idle')
  assert.is(await ask(service), 'ok')
  assert.is(raw.sockets.length, 2)
  const closed = once(raw.sockets[0]!, 'close')
  answerOk(raw.streams[1]!)
  assert.is(await slow, 'ok')
  await deadline(closed, WAIT_MS, 'the old connection to end')
})

function soon(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

client('fails the running calls when the connection breaks, and no later ones', async () => {
  const raw = keep(
    await RawService.start((stream, { streams }) => {
      if (streams.length !== 2) answerOk(stream)
    }),
  )
  const service = serviceAt(raw.endpoint)
  assert.is(await ask(service), 'ok')
  const cut = ask(service)
  await raw.waitForCalls(2)
  raw.sockets[0]!.resetAndDestroy()
  assert.match(await cut, /^broken: /)
  assert.is(await ask(service), 'ok')
  assert.is(raw.sockets.length, 2)
})

client('replaces a connection without responses for some time', async () => {
  const raw = keep(await RawService.start(answerOk))
  const service = serviceAt(raw.endpoint)
  const isSilent = async (): Promise<void> =>
    assert.is(await ask(service, 5), 'timeout: no response in time')
  assert.is(await ask(service), 'ok')
  raw.onStream = () => {}
  await isSilent()
  clock.at += 2_999
  await isSilent()
  // A response in between means that the service is slow, not dead.
  raw.onStream = answerOk
  assert.is(await ask(service), 'ok')
  raw.onStream = () => {}
  await isSilent()
  clock.at += 2_999
  await isSilent()
  assert.is(service.state, 'open')
  const waiting = ask(service)
  clock.at += 1
  await isSilent()
  assert.match(await waiting, /^broken: /)
  assert.is(await ask(service), 'unsent: no responses')
  raw.onStream = answerOk
  clock.at += 100
  assert.is(await ask(service), 'ok')
  assert.is(raw.sockets.length, 2)
})

client('bounds the number of concurrent calls', async () => {
  const raw = keep(await RawService.start(() => {}))
  const service = serviceAt(raw.endpoint)
  const calls = Array.from({ length: MAX_RATE_LIMIT_CALLS }, () => service.query(REQUEST, WAIT_MS))
  assert.is(await ask(service), 'unsent: too many calls in progress')
  calls[0]!.cancel()
  assert.is(await describe(calls[0]!.answer), 'cancelled: cancelled')
  let next = 'unsent: too many calls in progress'
  while (next === 'unsent: too many calls in progress') {
    await deadline(soon(), WAIT_MS, 'a stream to close')
    next = await ask(service, 5)
  }
  assert.is(next, 'timeout: no response in time')
})

client('limits stream resets when many clients close their connections', async () => {
  const raw = keep(await RawService.start(() => {}))
  const service = serviceAt(raw.endpoint)
  const leave = async (count: number): Promise<void> => {
    const calls = Array.from({ length: count }, () => service.query(REQUEST, WAIT_MS))
    await raw.waitForCalls(raw.streams.length + count)
    for (const call of calls) call.cancel()
    for (const { answer } of calls) assert.is(await describe(answer), 'cancelled: cancelled')
    const isLeft = (): boolean => raw.streams.every(({ closed, aborted }) => closed || !aborted)
    await until('streams to close', isLeft)
  }
  const resets = (): number => raw.streams.filter(({ aborted }) => aborted).length
  await leave(150)
  await until('streams to be reset', () => resets() >= 100)
  clock.at += 500
  await leave(20)
  await until('streams to be reset', () => resets() >= 110)
  // The responses of forgotten calls are ignored.
  for (const stream of raw.streams) if (!stream.aborted) answerOk(stream)
  raw.onStream = answerOk
  assert.is(await ask(service), 'ok')
  assert.equal([resets(), raw.sockets.length], [110, 1])
})

client('closes the stream of a forgotten call at its timeout', async () => {
  const raw = keep(await RawService.start(() => {}))
  const service = serviceAt(raw.endpoint)
  for (let count = 0; count < 100; count++) service.query(REQUEST, WAIT_MS).cancel()
  const last = service.query(REQUEST, 20)
  await raw.waitForCalls(1)
  last.cancel()
  const [stream] = raw.streams
  await deadline(once(stream!, 'close'), WAIT_MS, 'the last stream to close')
  assert.is(stream!.rstCode, 8)
})

client('logs failures at intervals with their number', async () => {
  const log = new Lines()
  const { endpoint, close } = await port(() => {})
  close()
  const service = serviceAt(endpoint, log)
  for (let failures = 0; failures < 5; failures++) await ask(service)
  clock.at += 5_000
  await ask(service)
  assert.equal(
    log.all.map(([level, message, ...fields]) => [level, message, fields.slice(2)]),
    [
      ['warn', 'rate limit service failed', ['reason', 'ECONNREFUSED', 'failures', 1]],
      ['warn', 'rate limit service failed', ['reason', 'ECONNREFUSED', 'failures', 5]],
    ],
  )
})

client(
  'after close ends its connection with the last call, and opens one for later calls',
  async () => {
    const raw = keep(
      await RawService.start((stream, { streams }) => {
        if (streams.length !== 2) answerOk(stream)
      }),
    )
    const service = serviceAt(raw.endpoint)
    assert.is(await ask(service), 'ok')
    const slow = ask(service)
    await raw.waitForCalls(2)
    service.close()
    const closed = once(raw.sockets[0]!, 'close')
    answerOk(raw.streams[1]!)
    assert.is(await slow, 'ok')
    await deadline(closed, WAIT_MS, 'the connection to end')
    assert.is(await ask(service), 'ok')
    assert.is(raw.sockets.length, 2)
    if (!raw.sockets[1]!.destroyed)
      await deadline(once(raw.sockets[1]!, 'close'), WAIT_MS, 'the second to end')
  },
)

client('is shared by all policies with the same endpoint', async () => {
  const services = keep(new RateLimitServices(new Lines()))
  const raw = keep(await RawService.start(answerOk))
  const service = services.serviceFor(raw.endpoint)
  assert.is(services.serviceFor({ ...raw.endpoint }), service)
  const other = services.serviceFor({ kind: 'tcp', host: '::1', port: 1 })
  assert.is(other.label, '[::1]:1')
  assert.is(await ask(service), 'ok')
  services.retain(new Set([other]), new Set())
  await deadline(once(raw.sockets[0]!, 'close'), WAIT_MS, 'a forgotten connection to end')
  assert.is(services.serviceFor({ kind: 'tcp', host: '::1', port: 1 }), other)
  assert.is.not(services.serviceFor(raw.endpoint), service)
})

client.run()
