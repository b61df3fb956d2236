// Protection from web pages: DNS rebinding of MCP routes by Host and Origin, and cross-site requests to LLM routes.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PresentedCredential } from '../../lib/core/exchange.ts'
import { checkLlmOrigin, checkRebinding } from '../../lib/forward/cross-site-checks.ts'
import type { LlmHosts, RebindingProtection } from '../../lib/forward/cross-site-checks.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'

const rebinding = suite('mcp rebinding')

/** The first word of the refusal of a request over loopback. */
function fault(protection: RebindingProtection, host: string, origin = '', allowed = ''): string {
  const fields = [`host: ${host}`, ...(origin === '' ? [] : [`origin: ${origin}`])]
  const exchange = exchangeOf(requestOf('POST /mcp HTTP/1.1', ...fields))
  exchange.enforcement.allowedOrigin = allowed
  return checkRebinding(exchange, protection)?.split(' ')[0] ?? ''
}

rebinding('strict serves loopback names only', () => {
  for (const host of [
    'localhost',
    'localhost:3000',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]:3000',
    'a.localhost',
  ])
    assert.is(fault('strict', host), '', host)
  for (const host of [
    'evil.test',
    'localhost.evil.test',
    '10.0.0.1',
    '127.0.0.1.evil.test',
    '[::2]',
  ])
    assert.is(fault('strict', host), 'Host', host)
})

rebinding('an Origin must be loopback, or allowed by cors', () => {
  for (const protection of ['strict', 'pages'] as const) {
    for (const origin of [
      'http://localhost',
      'http://localhost:5173',
      'https://127.0.0.1',
      'http://[::1]:1',
    ])
      assert.is(fault(protection, 'localhost', origin), '', origin)
    for (const origin of [
      'http://evil.test',
      'null',
      'http://localhost.evil.test',
      'http://localhost/',
      'http://localhost@evil.test',
      'file://localhost',
      'http://evil.test/localhost',
    ])
      assert.is(fault(protection, 'localhost', origin), 'Origin', origin)
    assert.is(fault(protection, 'localhost', 'http://ok.test', 'http://ok.test'), '')
    assert.is(fault(protection, 'localhost', 'http://no.test', 'http://ok.test'), 'Origin')
  }
})

rebinding('pages does not check Host, and off checks nothing', () => {
  assert.is(fault('pages', 'mcp.example.test'), '')
  assert.is(fault('off', 'evil.test', 'http://evil.test'), '')
})

rebinding.run()

const crossSite = suite('llm cross-site requests')

interface PageRequest {
  readonly host?: string
  readonly from?: string
  readonly allowed?: string
  readonly credential?: PresentedCredential['kind']
  readonly user?: string
  readonly hosts?: LlmHosts
  readonly method?: string
}

/** Whether a request with the Origin is served. */
function isServed(origin: string, request: PageRequest = {}): boolean {
  const { host = 'llm.test', from = '192.0.2.1', allowed = '', credential, user } = request
  const { hosts = 'any', method = 'POST' } = request
  const fields = [`host: ${host}`, ...(origin === '' ? [] : [`origin: ${origin}`])]
  const exchange = exchangeOf(requestOf(`${method} /v1/chat/completions HTTP/1.1`, ...fields))
  Object.assign(exchange, { source: { ...exchange.source, address: from } })
  exchange.enforcement.allowedOrigin = allowed
  if (credential !== undefined)
    exchange.enforcement.verifiedCredentials = [{ kind: credential, name: 'a', text: 'b' }]
  if (user !== undefined) exchange.addFacts({ basicAuth: { username: user } })
  return checkLlmOrigin(exchange, hosts) === null
}

crossSite('serves clients that are no web page, from any address', () => {
  assert.is(isServed(''), true)
  assert.is(isServed('', { from: '127.0.0.1', host: 'evil.test' }), true)
})

crossSite('refuses pages of other sites on every listener', () => {
  for (const from of ['127.0.0.1', '::1', '192.0.2.1'])
    for (const origin of ['https://evil.test', 'null', 'file://', 'https://llm.test.evil.test'])
      assert.is(isServed(origin, { from }), false, `${origin} from ${from}`)
})

crossSite('serves pages of the host itself, unless its name may be a rebound one', () => {
  const named = { hosts: 'named', host: 'llm.test:81' } as const
  assert.is(isServed('https://llm.test', { hosts: 'named' }), true)
  assert.is(isServed('http://llm.test:81', named), true)
  assert.is(isServed('http://llm.test:82', named), false)
  assert.is(isServed('http://192.0.2.9:81', { host: '192.0.2.9:81' }), true)
  assert.is(isServed('http://[2001:db8::1]:81', { host: '[2001:db8::1]:81' }), true)
  for (const from of ['127.0.0.1', '192.0.2.1'])
    for (const hosts of ['any', 'loopback'] as const)
      assert.is(isServed('http://llm.test', { from, hosts }), false)
})

crossSite(
  'refuses to read for a name that may be rebound, where only this machine has access',
  () => {
    const read = { hosts: 'loopback', method: 'GET' } as const
    assert.is(isServed('', read), false)
    assert.is(isServed('', { ...read, method: 'HEAD' }), false)
    assert.is(isServed('', { ...read, method: 'POST' }), true)
    assert.is(isServed('', { ...read, hosts: 'named' }), true)
    assert.is(isServed('', { ...read, hosts: 'any' }), true)
    assert.is(isServed('', { ...read, credential: 'header' }), true)
    for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000', '192.0.2.9'])
      assert.is(isServed('', { ...read, host }), true, host)
  },
)

crossSite('serves pages that cors allows, and pages of this machine', () => {
  assert.is(isServed('https://app.test', { allowed: 'https://app.test' }), true)
  assert.is(isServed('https://no.test', { allowed: 'https://app.test' }), false)
  assert.is(isServed('http://localhost:5173', { from: '127.0.0.1' }), true)
})

crossSite('serves a page that has a credential, but not one that the browser adds', () => {
  assert.is(isServed('https://any.test', { credential: 'header' }), true)
  assert.is(isServed('https://any.test', { credential: 'cookie' }), false)
  assert.is(isServed('https://any.test', { credential: 'header', user: 'ann' }), false)
})

crossSite.run()
