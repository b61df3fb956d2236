import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_TRACE_WATCHERS } from '../../lib/core/bounds.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { TraceSettingsCache } from '../../lib/trace/trace-request.ts'
import { TraceWatchers } from '../../lib/trace/trace-watchers.ts'
import { configOf } from '../support/config.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { Watched } from '../support/watched.ts'

const watching = suite('watchers')

const CONFIG = configOf(`gateways: { default: { port: 3000 } }
config: { sensitiveHeaders: [X-Mine] }
routes:
- backends: [{ host: 127.0.0.1:1, policies: { backendAuth: { key: { value: k, location: { header: { name: X-Theirs } } } } } }]
  policies: { apiKey: { keys: [{ key: k }], location: { queryParameter: { name: pass } } } }
`)

function watchers(): TraceWatchers {
  const terms = new TraceSettingsCache()
  return new TraceWatchers(() => terms.settingsFor(CONFIG))
}

function askedFor(path: string, ...fields: string[]) {
  return exchangeOf(requestOf(`GET ${path} HTTP/1.1`, 'host: a', ...fields))
}

watching('the first who wants such a request has it', () => {
  const all = watchers()
  const picky = Watched.at({ watchers: all }, compileExpression('request.path == "/b"', 'trace'))
  const any = Watched.at({ watchers: all })
  const [a, b, c] = [askedFor('/a'), askedFor('/b'), askedFor('/c')]
  for (const exchange of [a, b, c]) all.attachTrace(exchange)
  assert.is(any.state('requestSnapshot initial request', 'request')['path'], '/a')
  assert.is(picky.state('requestSnapshot initial request', 'request')['path'], '/b')
  assert.is(c.trace, null)
  assert.is(all.count, 0)
})

watching('who is taken back has none, and only so many wait', () => {
  const all = watchers()
  const back = Array.from({ length: MAX_TRACE_WATCHERS }, () => all.add(new Watched(), null))
  assert.is(all.add(new Watched(), null), null)
  for (const takeBack of back) takeBack?.()
  back[0]?.()
  assert.is(all.count, 0)
  const exchange = askedFor('/')
  all.attachTrace(exchange)
  assert.is(exchange.trace, null)
})

watching('what the configuration names as a place of credentials is not shown', () => {
  const all = watchers()
  const watched = Watched.at({ watchers: all })
  all.attachTrace(askedFor('/a?pass=1&b=2', 'x-mine: 3', 'x-theirs: 4', 'x-other: 5', 'x-other: 6'))
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
  const terms = new TraceSettingsCache()
  assert.is(terms.settingsFor(CONFIG), terms.settingsFor(CONFIG))
  assert.is.not(terms.settingsFor({ ...CONFIG }), terms.settingsFor(CONFIG))
})

watching.run()
