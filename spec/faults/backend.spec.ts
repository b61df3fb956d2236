// Backends that fail, with clients of both protocols: what the client sees, what is logged, and that nothing remains.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { Backend } from '../support/backend.ts'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { END_HEADERS, END_STREAM, fieldLines, frame } from '../support/http2-frames.ts'
import { CERT, KEY } from '../support/tls-pair.ts'
import {
  HEAD,
  OK,
  PROTOCOLS,
  ask,
  assertNothingLeft,
  assertLogged,
  until,
  assertNoHandleLeft,
} from './fault-support.ts'
import type { Seen } from './fault-support.ts'

const faults = suite('faults of backends')
const stage = new Stage()
assertNoHandleLeft(faults)
faults.after.each(() => stage.clear())

/** Short timeouts, only for tests that wait for them: all other waits are long, for a busy machine. */
const SHORT_CALL_TIMEOUT = 'timeout: { backendRequestTimeout: 100ms }'
const SHORT_BODY_TIMEOUT = 'config: { backend: { bodyIdleTimeout: 100ms } }\n'
const SOME_OF_NINE = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome'
const SOME_CHUNKS = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n'
const CLOSED = 'upstream call failed: connection closed'
const RESET = 'upstream call failed: connection reset'
const INVALID = 'upstream call failed: invalid response'

interface Fault {
  /** What the backend does after a request. */
  readonly script: Step[]
  /** Policies of the route. */
  readonly policies?: string
  /** Sections of the configuration. */
  readonly config?: string
  readonly seen: Seen
  readonly logged: string
}

/** The gateway sends an error response. */
function refused(script: Step[], status: number, body: string, policies = ''): Fault {
  const outcome = status === 504 ? 'backend_timeout' : 'backend_reset'
  const seen: Seen = { status, body, end: 'whole' }
  return { script: [{ wait: HEAD }, ...script], policies, seen, logged: `${status} ${outcome}` }
}

/** The client must have received the start of the response first: the fault could overtake it. */
function cut(said: string, then: Step[], outcome = 'backend_reset'): Fault {
  const seen: Seen = { status: 200, body: 'some', end: 'cut' }
  const script: Step[] = [{ wait: HEAD }, { send: said }, { hold: true }, ...then]
  return { script, seen, logged: `200 ${outcome}` }
}

const close: Step = { close: true }
const reset: Step = { reset: true }

const FAULTS: Record<string, Fault> = {
  'that closes before its head': refused([close], 503, CLOSED),
  'that resets before its head': refused([reset], 503, RESET),
  'that hangs before its head': refused([], 504, 'upstream call timeout', SHORT_CALL_TIMEOUT),
  'that sends half a head and closes': refused(
    [{ send: 'HTTP/1.1 200 OK\r\ncontent-le' }, close],
    503,
    CLOSED,
  ),
  'that sends half a head and hangs': refused(
    [{ send: 'HTTP/1.1 200 OK\r\ncontent-le' }],
    504,
    'upstream call timeout',
    SHORT_CALL_TIMEOUT,
  ),
  'that sends no HTTP': refused([{ send: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' }], 503, INVALID),
  'that frames its body in two ways': refused(
    [{ send: `HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok` }],
    503,
    INVALID,
  ),
  'that closes in the middle of a length': cut(SOME_OF_NINE, [close]),
  'that resets in the middle of a length': cut(SOME_OF_NINE, [reset]),
  'that closes between chunks': cut(SOME_CHUNKS, [close]),
  'that resets between chunks': cut(SOME_CHUNKS, [reset]),
  'that breaks its chunks': cut(SOME_CHUNKS, [{ send: 'zz\r\nevil\r\n' }]),
  'that is silent in the middle of its body': {
    ...cut(SOME_CHUNKS, [], 'backend_timeout'),
    config: SHORT_BODY_TIMEOUT,
  },
}

/** One route with these policies at /fault, and one without. */
function routesTo({ port }: { port: number }, policies: string): string {
  const backends = `backends: [{ host: 127.0.0.1:${port} }]`
  const matches = 'matches: [{ path: { exact: /fault } }]'
  return `routes:
- { name: fault, ${matches}, ${backends}, policies: { ${policies} } }
- { name: all, ${backends} }
`
}

for (const protocol of PROTOCOLS)
  for (const [name, fault] of Object.entries(FAULTS))
    faults(`a backend ${name}, over ${protocol}`, async () => {
      const { script, policies = '', config = '' } = fault
      const backend = await stage.backend(script, [{ wait: HEAD }, { send: OK }])
      const gateway = await stage.gateway(config + routesTo(backend, policies))
      const asked = ask(stage, gateway, protocol, { path: '/fault' })
      if (fault.seen.end === 'cut') {
        await until(() => gateway.live.requests.relay === 1, 'the answer to begin')
        backend.release()
      }
      const seen = await asked
      // The reason of a malformed response follows; its text does not matter here.
      const body = seen.body.slice(0, fault.seen.body.length)
      assert.equal({ ...seen, body }, fault.seen)
      await assertNothingLeft(gateway)
      // The next request is served on another connection.
      const after = await ask(stage, gateway, protocol)
      assert.equal(after, { status: 200, body: 'ok', end: 'whole' })
      await assertNothingLeft(gateway, { idle: 1 })
      await assertLogged(gateway, fault.logged, '200 complete')
    })

for (const protocol of PROTOCOLS) {
  faults(`a backend that refuses connections, over ${protocol}`, async () => {
    const port = await freePort()
    const gateway = await stage.gateway(routeTo({ port }))
    assert.equal(await ask(stage, gateway, protocol), {
      status: 503,
      body: 'upstream call failed: connection refused',
      end: 'whole',
    })
    await assertNothingLeft(gateway)
    await assertLogged(gateway, '503 backend_reset')
  })

  faults(
    `a backend that closes an idle connection as a request is written, ${protocol}`,
    async () => {
      const backend = await stage.backend(
        [{ wait: HEAD }, { send: OK }, { wait: HEAD }, reset],
        [{ wait: HEAD }, { send: OK }],
      )
      const gateway = await stage.gateway(routeTo(backend))
      for (const path of ['/first', '/second'])
        assert.is((await ask(stage, gateway, protocol, { path })).body, 'ok')
      const asked = backend.received.match(/GET \S+/g)
      assert.equal(asked, ['GET /first', 'GET /second', 'GET /second'])
      await assertNothingLeft(gateway, { idle: 1 })
      await assertLogged(gateway, '200 complete', '200 complete')
    },
  )

  faults(
    `a backend that closes an idle connection as a large body is written, over ${protocol}`,
    async () => {
      const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { wait: HEAD }, reset])
      const gateway = await stage.gateway(routeTo(backend))
      await ask(stage, gateway, protocol)
      const seen = await ask(stage, gateway, protocol, { body: 'x'.repeat(100_000) })
      assert.equal([seen.status, seen.end], [503, 'whole'])
      assert.is(backend.connections.length, 1)
      await assertNothingLeft(gateway)
      await assertLogged(gateway, '200 complete', '503 backend_reset')
    },
  )

  faults(`a backend that answers before the request, over ${protocol}`, async () => {
    const early: Step[] = [{ send: OK }, { wait: HEAD }, { send: OK.replace('ok', 'no') }]
    const backend = await stage.backend(early, [{ wait: HEAD }, { send: OK }])
    const gateway = await stage.gateway(routeTo(backend))
    assert.is((await ask(stage, gateway, protocol)).body, 'ok')
    // The response to the request itself belongs to no request, so its connection is closed.
    await assertNothingLeft(gateway)
    assert.is((await ask(stage, gateway, protocol)).body, 'ok')
    assert.is(backend.connections.length, 2)
    await assertLogged(gateway, '200 complete', '200 complete')
  })

  for (const [when, script] of Object.entries({
    'at once': [{ wait: HEAD }, { send: OK + OK.replace('ok', 'no') }],
    later: [{ wait: HEAD }, { send: OK }, { hold: true }, { send: OK.replace('ok', 'no') }],
  } satisfies Record<string, Step[]>))
    faults(`a backend that answers twice, ${when}, over ${protocol}`, async () => {
      const backend = await stage.backend(script, [{ wait: HEAD }, { send: OK }])
      const gateway = await stage.gateway(routeTo(backend))
      const first = await ask(stage, gateway, protocol)
      assert.equal([first.status, first.body.slice(0, 2)], [200, 'ok'])
      backend.release()
      await assertNothingLeft(gateway)
      assert.is((await ask(stage, gateway, protocol)).body, 'ok')
      await assertNothingLeft(gateway, { idle: 1 })
      assert.is(backend.connections.length, 2)
      await assertLogged(gateway, '200 complete', '200 complete')
    })

  faults(`a backend that answers during an upload, over ${protocol}`, async () => {
    const backend = await stage.backend([{ wait: HEAD }, { send: OK }])
    const gateway = await stage.gateway(routeTo(backend))
    const seen = await ask(stage, gateway, protocol, { body: 'x'.repeat(3_000_000) })
    assert.equal([seen.status, seen.body], [200, 'ok'])
    await until(() => gateway.live.requests.relay === 0, 'the end of the answer')
    await assertNothingLeft(gateway)
    await assertLogged(gateway, '200 complete')
  })
}

/** An HTTP/2 backend scripted in bytes, starting with its SETTINGS; the first stream is 1. */
async function http2BackendOf(...scripts: Step[][]): Promise<Backend> {
  const tls = { cert: CERT, key: KEY, ALPNProtocols: ['h2'] }
  const greeting: Step = { send: frame('settings', 0, 0) }
  return stage.add(await Backend.startAt({ tls }, ...scripts.map((steps) => [greeting, ...steps])))
}

/** Matches a request with the method GET or POST. */
const ASKED = /[\x82\x83]/
const OVER_TLS = 'backendTLS: { insecure: true }'
const HTTP2_OK = Buffer.concat([
  frame('headers', END_HEADERS, 1, fieldLines([':status', '200'])),
  frame('data', END_STREAM, 1, Buffer.from('ok')),
])

// nghttp2 stops reading and node emits no event: later requests would wait forever on a dead session.
faults('an HTTP/2 backend that sends garbage, and the next request', async () => {
  const garbage: Step[] = [{ wait: ASKED }, { send: 'HTTP/1.1 400 Bad Request\r\n\r\n' }]
  const backend = await http2BackendOf(garbage, [{ wait: ASKED }, { send: HTTP2_OK }])
  const config = 'config: { backend: { poolIdleTimeout: 200ms } }\n'
  const gateway = await stage.gateway(config + routeTo(backend, OVER_TLS))
  const body = 'upstream call failed: stream closed'
  assert.equal(await ask(stage, gateway, 'http/1.1'), { status: 503, body, end: 'whole' })
  await assertNothingLeft(gateway)
  assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
  await assertLogged(gateway, '503 backend_reset', '200 complete')
})

/** The head of the second request on a session. */
function askedAgain(text: string): number {
  const ends = [END_HEADERS, END_HEADERS | END_STREAM].map((flags) => {
    const start = Buffer.from([1, flags, 0, 0, 0, 3]).toString('latin1')
    return text.indexOf(start) + start.length
  })
  return Math.max(...ends) > 6 ? Math.max(...ends) : -1
}

/** The last accepted stream is 1. */
const GOAWAY: Step = { send: frame('goaway', 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])) }

for (const [what, body, seen] of [
  ['a request', '', '200 ok'],
  ['an upload', 'some', '200 ok'],
  [
    'an upload too large to be kept',
    'x'.repeat(65_537),
    '503 upstream call failed: stream refused',
  ],
] as const)
  faults(`an HTTP/2 backend that sends GOAWAY as ${what} is written`, async () => {
    const once: Step[] = [{ wait: ASKED }, { send: HTTP2_OK }]
    const leaving: Step[] = [...once, { wait: askedAgain }, { wait: body.length }, GOAWAY, close]
    const backend = await http2BackendOf(leaving, once)
    const gateway = await stage.gateway(routeTo(backend, OVER_TLS))
    assert.is((await ask(stage, gateway, 'http/1.1')).body, 'ok')
    const { status, body: answer } = await ask(stage, gateway, 'http/1.1', { body })
    assert.is(`${status} ${answer}`, seen)
    const isServed = status === 200
    await assertNothingLeft(gateway, { idle: isServed ? 1 : 0 })
    await assertLogged(gateway, '200 complete', isServed ? '200 complete' : '503 backend_reset')
  })

faults('an HTTP/2 backend that disconnects in the middle of its body', async () => {
  const begun = Buffer.concat([
    frame('headers', END_HEADERS, 1, fieldLines([':status', '200'])),
    frame('data', 0, 1, Buffer.from('some')),
  ])
  const script: Step[] = [{ wait: ASKED }, { send: begun }, { hold: true }, close]
  const backend = await http2BackendOf(script)
  const gateway = await stage.gateway(routeTo(backend, OVER_TLS))
  const asked = ask(stage, gateway, 'http/1.1')
  await until(() => gateway.live.requests.relay === 1, 'the answer to begin')
  backend.release()
  assert.equal(await asked, { status: 200, body: 'some', end: 'cut' })
  await assertNothingLeft(gateway)
  await assertLogged(gateway, '200 backend_reset')
})

faults.run()
