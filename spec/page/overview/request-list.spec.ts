// Which authorization rules denied a request.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type {
  ListenerNode,
  MapView,
  PolicyNode,
  RouteNode,
} from '../../../lib/admin/page-api/page-api-types.ts'
import { deniedRules } from '../../../lib/page/overview/request-list.ts'
import type { SeenRequest } from '../../../lib/page/parts/seen-requests.ts'

const denied = suite('page/request-list')

const LISTENER = 'gateway/default'
const ROUTE = 'gateway/default/default/a'

function authorization(...rules: readonly unknown[]): PolicyNode {
  return { kind: 'authorization', from: null, config: { rules }, problems: [] }
}

function mapOf(onListener: readonly PolicyNode[], onRoute: readonly PolicyNode[]): MapView {
  const route: RouteNode = {
    key: ROUTE,
    name: 'a',
    place: null,
    hostnames: [],
    matches: [],
    policies: onRoute,
    backends: [],
    more: 0,
    traffic: { key: ROUTE, requests: 0, errors: 0, refused: 0 },
    problems: [],
  }
  const listener: ListenerNode = {
    key: LISTENER,
    name: 'default',
    hostname: '',
    protocol: 'HTTP',
    place: null,
    policies: onListener,
    routes: [route],
  }
  return {
    generation: 1,
    gateways: [{ name: 'default', bind: '', place: null, state: 'open', listeners: [listener] }],
    problems: [],
    more: 0,
  }
}

function refused(route: string, fields: Readonly<Record<string, string | number>>): SeenRequest {
  const all = Object.entries({ listener: LISTENER, reason: 'authorization_denied', ...fields })
  return {
    number: 1,
    at: 0,
    method: 'GET',
    path: '/',
    route,
    status: 403,
    duration: '',
    fields: all,
  }
}

const FIRST = { mode: 'require', expression: 'a' }
const SECOND = { mode: 'allow', expression: 'b' }

denied('is the rule that the log names', () => {
  const map = mapOf([authorization(SECOND)], [authorization(FIRST, SECOND)])
  assert.equal(deniedRules(map, refused(ROUTE, { rule: 0 })), [FIRST])
  assert.equal(deniedRules(map, refused('', { rule: 0 })), [SECOND])
})

denied('are all allow rules when the log names none', () => {
  const map = mapOf([], [authorization(FIRST, SECOND)])
  assert.equal(deniedRules(map, refused(ROUTE, {})), [SECOND])
})

denied('is nothing where another policy refused, or the rules are others by now', () => {
  const map = mapOf([], [authorization(FIRST)])
  assert.equal(deniedRules(map, refused(ROUTE, { rule: 4 })), [])
  assert.equal(deniedRules(map, refused('gateway/default/default/b', { rule: 0 })), [])
  assert.equal(deniedRules(map, refused(ROUTE, { rule: 0, reason: 'token_expired' })), [])
  const odd: PolicyNode = { kind: 'authorization', from: null, config: null, problems: [] }
  assert.equal(deniedRules(mapOf([], [odd]), refused(ROUTE, { rule: 0 })), [])
})

denied.run()
