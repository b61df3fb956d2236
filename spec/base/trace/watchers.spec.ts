import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_WATCHERS } from '../../../lib/base/bounds/limits.ts'
import { compile } from '../../../lib/base/cel/compile.ts'
import { TraceTermsOf } from '../../../lib/base/trace/terms.ts'
import { Watchers } from '../../../lib/base/trace/watchers.ts'
import { configOf } from '../../support/config.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { Watched } from '../../support/watched.ts'

const watching = suite('watchers')

const CONFIG = configOf(`gateways: { default: { port: 3000 } }
config: { sensitiveHeaders: [X-Mine] }
routes:
- backends: [{ host: 127.0.0.1:1, policies: { backendAuth: { key: { value: k, location: { header: { name: X-Theirs } } } } } }]
  policies: { apiKey: { keys: [{ key: k }], location: { queryParameter: { name: pass } } } }
`)

function watchers(): Watchers {
  const terms = new TraceTermsOf()
  return new Watchers(() => terms.of(CONFIG))
}

function askedFor(path: string, ...fields: string[]) {
  return exchangeOf(requestOf(`GET ${path} HTTP/1.1`, 'host: a', ...fields))
}

watching('the first who wants such a request has it', () => {
  const all = watchers()
  const picky = Watched.at({ watchers: all }, compile('request.path == "/b"', 'trace'))
  const any = Watched.at({ watchers: all })
  const [a, b, c] = [askedFor('/a'), askedFor('/b'), askedFor('/c')]
  for (const exchange of [a, b, c]) all.watch(exchange)
  assert.is(any.state('requestSnapshot initial request', 'request')['path'], '/a')
  assert.is(picky.state('requestSnapshot initial request', 'request')['path'], '/b')
  assert.is(c.trace, null)
  assert.is(all.count, 0)
})

watching('who is taken back has none, and only so many wait', () => {
  const all = watchers()
  const back = Array.from({ length: MAX_WATCHERS }, () => all.add(new Watched(), null))
  assert.is(all.add(new Watched(), null), null)
  for (const takeBack of back) takeBack?.()
  back[0]?.()
  assert.is(all.count, 0)
  const exchange = askedFor('/')
  all.watch(exchange)
  assert.is(exchange.trace, null)
})

watching('what the configuration names as a place of credentials is not shown', () => {
  const all = watchers()
  const watched = Watched.at({ watchers: all })
  all.watch(askedFor('/a?pass=1&b=2', 'x-mine: 3', 'x-theirs: 4', 'x-other: 5', 'x-other: 6'))
  const { uri, headers } = watched.state('requestSnapshot initial request', 'request')
  assert.is(uri, 'http://a/a?pass=<redacted>&b=2')
  assert.equal(headers, {
    host: 'a',
    'x-mine': '<redacted>',
    'x-theirs': '<redacted>',
    'x-other': ['5', '6'],
  })
})

watching('the terms are found out once for a configuration', () => {
  const terms = new TraceTermsOf()
  assert.is(terms.of(CONFIG), terms.of(CONFIG))
  assert.is.not(terms.of({ ...CONFIG }), terms.of(CONFIG))
})

watching.run()
