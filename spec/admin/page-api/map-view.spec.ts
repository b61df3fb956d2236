// The map has a limited size for any configuration.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../../lib/config/load.ts'
import { ConfigPartFormatter } from '../../../lib/config/show.ts'
import type { MapView } from '../../../lib/admin/page-api/page-api-types.ts'
import {
  ConfigMap,
  cutValue,
  MAX_CUT_VALUE_LENGTH,
  MAX_CUT_VALUE_PARTS,
  MAX_OF_ROUTE,
} from '../../../lib/admin/page-api/map-view.ts'
import type { GatewayFacts } from '../../../lib/admin/page-api/gateway-facts.ts'

const test = suite('ui/map')

/** No traffic yet. */
const FACTS = {
  inForce: () => ({ generation: 1 }),
  listeners: () => [],
  traffic: () => new Map(),
  groups: () => [],
  health: () => ({ pool: null, problems: [] }),
} as unknown as GatewayFacts

function mapOf(routes: readonly object[], maxLength?: number): MapView {
  const gateways = { default: { port: 3000 } }
  const config = parseConfig(JSON.stringify({ gateways, routes }), { file: 'a.yaml' })
  return new ConfigMap(config, new ConfigPartFormatter(config), maxLength).view(FACTS)
}

test('cuts long values, and says how much is left out', () => {
  const long = 'z'.repeat(MAX_CUT_VALUE_LENGTH + 7)
  assert.is(cutValue('z'.repeat(MAX_CUT_VALUE_LENGTH)), 'z'.repeat(MAX_CUT_VALUE_LENGTH))
  const cut = `${'z'.repeat(MAX_CUT_VALUE_LENGTH)}… 7 more characters`
  assert.equal(cutValue({ a: [long, 1, null] }), { a: [cut, 1, null] })
  const many = Array.from({ length: MAX_CUT_VALUE_PARTS + 3 }, (_, i) => i)
  assert.equal((cutValue(many) as unknown[]).slice(-2), [MAX_CUT_VALUE_PARTS - 1, '… 3 more'])
  const fields = cutValue(Object.fromEntries(many.map((i) => [`a${i}`, i]))) as object
  assert.equal(Object.entries(fields).slice(-2), [
    [`a${MAX_CUT_VALUE_PARTS - 1}`, MAX_CUT_VALUE_PARTS - 1],
    ['…', '3 more'],
  ])
})

test('shows the first backends and matches of a route, and counts the others', () => {
  const backends = Array.from({ length: MAX_OF_ROUTE + 5 }, (_, i) => ({
    host: `127.0.0.1:${i + 1}`,
  }))
  const matches = Array.from({ length: MAX_OF_ROUTE + 2 }, (_, i) => ({ path: { exact: `/${i}` } }))
  const [route] = mapOf([{ matches, backends }]).gateways[0]!.listeners[0]!.routes
  assert.is(route!.backends.length, MAX_OF_ROUTE)
  assert.is(route!.matches.length, MAX_OF_ROUTE)
  assert.is(route!.more, 7)
})

test('stops at its limit, and counts the remaining routes', () => {
  const set = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`x-${i}`, 'y'.repeat(1000)]))
  const routes = Array.from({ length: 60 }, (_, i) => ({
    name: `r${i}`,
    policies: { requestHeaderModifier: { set }, directResponse: { status: 200, body: 'ok' } },
  }))
  const view = mapOf(routes, 200_000)
  const shown = view.gateways[0]!.listeners[0]!.routes.length
  assert.ok(shown > 30 && shown < 60, String(shown))
  assert.is(view.more, 60 - shown)
  assert.ok(JSON.stringify(view).length < 220_000)
})

test.run()
