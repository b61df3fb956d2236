import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_TRACE_WATCHERS } from '../../lib/core/bounds.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { TraceSettingsCache } from '../../lib/trace/trace-request.ts'
import { TraceWatchers } from '../../lib/trace/trace-watchers.ts'
import { configOf } from '../support/config.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const watching = suite('trace watchers')

const CONFIG = configOf(`gateways: { default: { port: 3000 } }
config: { sensitiveHeaders: [X-Mine] }
routes:
- backends: [{ host: 127.0.0.1:1, policies: { backendAuth: { key: { value: k, location: { header: { name: X-Theirs } } } } } }]
  policies: { apiKey: { keys: [{ key: k }], location: { queryParameter: { name: pass } } } }
`)

function watchers(): TraceWatchers {
  const settings = new TraceSettingsCache()
  return new TraceWatchers(() => settings.settingsFor(CONFIG))
}

function exchangeFor(path: string, ...fields: string[]) {
  return exchangeOf(requestOf(`GET ${path} HTTP/1.1`, 'host: a', ...fields))
}

watching('the first watcher whose filter matches gets the request', () => {
  const all = watchers()
  const filtered = TraceWatcher.at(
    { watchers: all },
    compileExpression('request.path == "/b"', 'trace'),
  )
  const any = TraceWatcher.at({ watchers: all })
  const [a, b, c] = [exchangeFor('/a'), exchangeFor('/b'), exchangeFor('/c')]
  for (const exchange of [a, b, c]) all.attachTrace(exchange)
  assert.is(any.state('requestSnapshot initial request', 'request')['path'], '/a')
  assert.is(filtered.state('requestSnapshot initial request', 'request')['path'], '/b')
  assert.is(c.trace, null)
  assert.is(all.count, 0)
})

watching('a removed watcher gets no request, and their number is bounded', () => {
  const all = watchers()
  const removals = Array.from({ length: MAX_TRACE_WATCHERS }, () =>
    all.add(new TraceWatcher(), null),
  )
  assert.is(all.add(new TraceWatcher(), null), null)
  for (const remove of removals) remove?.()
  removals[0]?.()
  assert.is(all.count, 0)
  const exchange = exchangeFor('/')
  all.attachTrace(exchange)
  assert.is(exchange.trace, null)
})

watching('headers and parameters of configured credentials are redacted', () => {
  const all = watchers()
  const watched = TraceWatcher.at({ watchers: all })
  all.attachTrace(
    exchangeFor('/a?pass=1&b=2', 'x-mine: 3', 'x-theirs: 4', 'x-other: 5', 'x-other: 6'),
  )
  const { uri, headers } = watched.state('requestSnapshot initial request', 'request')
  assert.is(uri, 'http://a/a?pass=<redacted>&b=2')
  assert.equal(headers, {
    host: 'a',
    'x-mine': '<redacted>',
    'x-theirs': '<redacted>',
    'x-other': ['5', '6'],
  })
})

watching('settings are built once per configuration', () => {
  const settings = new TraceSettingsCache()
  assert.is(settings.settingsFor(CONFIG), settings.settingsFor(CONFIG))
  assert.is.not(settings.settingsFor({ ...CONFIG }), settings.settingsFor(CONFIG))
})

watching.run()
