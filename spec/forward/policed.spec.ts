// Policies of one backend: they run after those of the route, and only for attempts at that backend.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../lib/core/exchange.ts'
import type { Attempt, Policy } from '../../lib/core/types.ts'
import { BackendWithPolicies } from '../../lib/forward/backend-attempt.ts'
import { ask } from '../support/ask.ts'
import type { Backend, Step } from '../support/backend.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { Stage } from '../support/gateway.ts'

const policed = suite('forward/policed')
const stage = new Stage()
policed.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\nx-from: backend\r\ncontent-length: 2\r\n\r\nok'
const BUSY = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy'
const SERVES: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]
const FAILS: Step[] = [{ wait: HEAD }, { send: BUSY }, { again: true }]

/** A backend and its policies, as YAML in flow form. */
function host({ port }: Backend, policies = ''): string {
  return `{ host: 127.0.0.1:${port}, policies: { ${policies} } }`
}

function route(policies: string, ...backends: string[]): string {
  return `routes: [{ name: all, policies: { ${policies} }, backends: [${backends.join(', ')}] }]`
}

policed(
  'runs its policies after those of the route, on the request and on the response',
  async () => {
    const backend = await stage.backend(SERVES)
    const own = `requestHeaderModifier: { add: { x-a: backend } },
    responseHeaderModifier: { set: { x-from: "its policy" } }`
    const outer = `requestHeaderModifier: { add: { x-a: route } }`
    const gateway = await stage.gateway(route(outer, host(backend, own)))
    const answer = await ask(gateway, 'GET / HTTP/1.1')
    assert.equal(backend.received.match(/x-a: \w+/g), ['x-a: route', 'x-a: backend'])
    assert.is(answer.headers['x-from'], 'its policy')
  },
)

policed('refuses a request that its rules deny, and does not call the backend', async () => {
  const backend = await stage.backend(SERVES)
  const own = `authorization: { rules: ['request.headers["x-a"] == "1"'] }`
  // A refusal by a policy is not retried, even if its code is configured.
  const retry = 'retry: { attempts: 3, codes: [403] }'
  const gateway = await stage.gateway(route(retry, host(backend, own)))
  assert.is((await ask(gateway, 'GET / HTTP/1.1', 'x-a: 1')).status, 200)
  const before = backend.received
  const answer = await ask(gateway, 'GET / HTTP/1.1', 'x-a: 2')
  assert.is(answer.status, 403)
  assert.is(answer.body, 'authorization failed')
  assert.is(backend.received, before)
})

policed(
  'removes the changes and the credential of one backend before the next attempt',
  async () => {
    const [one, two, plain] = [
      await stage.backend(FAILS),
      await stage.backend(FAILS),
      await stage.backend(FAILS),
    ]
    const own = (name: string): string =>
      `backendAuth: { key: ${name} }, requestHeaderModifier: { add: { x-a: ${name} } },
     responseHeaderModifier: { add: { x-b: ${name} } }`
    const gateway = await stage.gateway(
      route(
        'retry: { attempts: 10, backoff: 1ms, codes: [503] }',
        host(one, own('one')),
        host(two, own('two')),
        host(plain),
      ),
    )
    for (let left = 3; left > 0; left--) {
      const answer = await ask(gateway, 'GET / HTTP/1.1', 'authorization: Bearer client')
      assert.is(answer.status, 503)
      // Only the policies of the last attempt may have changed the response.
      assert.ok(!(answer.headers['x-b'] ?? '').includes('\n'))
    }
    const heads = (backend: Backend): string[] => backend.received.split('\r\n\r\n').slice(0, -1)
    assert.is([one, two, plain].flatMap(heads).length, 33)
    for (const [backend, name] of [
      [one, 'one'],
      [two, 'two'],
    ] as const)
      for (const head of heads(backend)) {
        assert.equal(head.match(/authorization: .*/g), [`authorization: Bearer ${name}`])
        assert.equal(head.match(/x-a: .*/g), [`x-a: ${name}`])
      }
    for (const head of heads(plain)) {
      assert.equal(head.match(/authorization: .*/g), ['authorization: Bearer client'])
      assert.is(head.match(/x-a: .*/g), null)
    }
  },
)

policed('runs its policies again for every attempt', async () => {
  const backend = await stage.backend(FAILS)
  const own = `transformations: { request: { add: { x-a: '"1"' } } }`
  const gateway = await stage.gateway(
    route('retry: { attempts: 2, codes: [503] }', host(backend, own)),
  )
  await ask(gateway, 'GET / HTTP/1.1')
  const heads = backend.received.split('\r\n\r\n').slice(0, -1)
  assert.equal(
    heads.map((head) => head.match(/x-a: 1|x-retry-attempt: \d/g)),
    [['x-a: 1'], ['x-retry-attempt: 1', 'x-a: 1'], ['x-retry-attempt: 2', 'x-a: 1']],
  )
})

policed('adds its policies to the response policies of the exchange', () => {
  const policy: Policy = { kind: 'own' }
  const outer: Policy = { kind: 'outer' }
  const called: Exchange[] = []
  const plain = { endpoint: 'h:1', call: (exchange: Exchange) => void called.push(exchange) }
  let passPolicies: () => void = () => {}
  const backend = new BackendWithPolicies(plain, [policy], (_exchange, policies, pass) => {
    assert.equal(policies, [policy])
    passPolicies = pass
  })
  assert.is(backend.endpoint, 'h:1')
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'host: a'))
  exchange.usePolicies([outer])
  backend.call(exchange, {} as Attempt)
  assert.equal(exchange.policies, [outer, policy])
  assert.equal(called, [])
  passPolicies()
  assert.equal(called, [exchange])
})

policed.run()
