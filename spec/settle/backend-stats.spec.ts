// Statistics of each backend, from the exchanges that it received.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../lib/core/exchange.ts'
import { BackendStats } from '../../lib/settle/backend-stats.ts'
import { exchangeOf, requestOf, withFields } from '../support/exchange-of.ts'
import type { ExchangeFields } from '../support/exchange-of.ts'

const stats = suite('settle/backend-stats')

function settled(fields: ExchangeFields): Exchange {
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'host: a'))
  const backend = { name: 'b', type: 'static', protocol: 'http' } as const
  return withFields(exchange, { backend, calledAt: 100, receivedAt: 110, status: 200, ...fields })
}

function after(...all: ExchangeFields[]): ReturnType<BackendStats['get']> {
  const backendStats = new BackendStats()
  for (const fields of all) backendStats.count(settled(fields))
  return backendStats.get('b')
}

stats('a backend without requests is unknown', () => {
  assert.is(after(), null)
  assert.is(after({ backend: null }), null)
})

stats('counts requests, and updates the moving averages', () => {
  assert.equal({ ...after({}) }, { requests: 1, health: 1, latencyMs: 10 })
  const backendStats = after(
    {},
    { status: 503, receivedAt: 120 },
    { outcome: 'backend_reset', receivedAt: 0 },
  )
  assert.is(backendStats?.requests, 3)
  assert.is(backendStats?.health?.toFixed(2), '0.81')
  assert.is(backendStats?.latencyMs, 11)
})

stats('a timeout, a reset and a 5xx response reduce the health; a 4xx response does not', () => {
  for (const fields of [
    { outcome: 'backend_timeout', receivedAt: 0 },
    { outcome: 'backend_reset' },
    { status: 500 },
  ] as const)
    assert.is(after(fields)?.health, 0, JSON.stringify(fields))
  assert.is(after({ status: 404 })?.health, 1)
})

stats('a closed client connection or a shutdown does not change the health', () => {
  for (const outcome of ['client_closed', 'client_error', 'idle', 'shutdown'] as const)
    assert.equal(
      { ...after({ outcome, receivedAt: 0 }) },
      { requests: 1, health: null, latencyMs: null },
    )
})

stats('a response of a policy is not counted for the backend', () => {
  assert.is(after({ answeringPolicy: 'authorization', status: 403 }), null)
})

stats('removes backends that are no longer configured', () => {
  const backendStats = new BackendStats()
  backendStats.count(settled({}))
  backendStats.retain(new Set(['b']))
  assert.is(backendStats.get('b')?.requests, 1)
  backendStats.retain(new Set())
  assert.is(backendStats.get('b'), null)
})

stats.run()
