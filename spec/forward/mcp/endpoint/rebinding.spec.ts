// DNS rebinding protection on a loopback listener, by Host and Origin.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { checkRebinding } from '../../../../lib/forward/mcp/endpoint/request-checks.ts'
import type { RebindingProtection } from '../../../../lib/forward/mcp/endpoint/request-checks.ts'
import { exchangeOf, requestOf } from '../../../support/exchange-of.ts'

const rebinding = suite('mcp/endpoint/rebinding')

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
