import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_TRACE_WATCHERS } from '../../lib/core/bounds.ts'
import { compileExpression } from '../../lib/expressions/compile.ts'
import { TraceSettingsCache } from '../../lib/trace/trace-request.ts'
import { createTraceToken } from '../../lib/trace-view/trace-token.ts'
import { startTrace, TraceWatchers } from '../../lib/trace/trace-watchers.ts'
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

/** The start of tokens that are long enough. */
const TOKEN = 'a'.repeat(31)
const markedBy = (token: string): string => `x-gateway-trace: ${token}`

watching('a token selects one request, whatever else arrives, and is removed from it', () => {
  const all = watchers()
  const own = new TraceWatcher()
  const any = new TraceWatcher()
  all.add(own, null, `${TOKEN}1`)
  const other = exchangeFor('/other', markedBy(`${TOKEN}2`))
  all.attachTrace(other)
  assert.is(other.trace, null)
  assert.is(other.request.get('x-gateway-trace'), `${TOKEN}2`)
  all.add(any, null)
  const mine = exchangeFor('/mine', markedBy(`${TOKEN}1`), 'x-a: b', markedBy(`${TOKEN}3`))
  all.attachTrace(mine)
  all.attachTrace(exchangeFor('/next'))
  assert.is(own.state('requestSnapshot initial request', 'request')['path'], '/mine')
  assert.equal(own.state('requestSnapshot initial request', 'request')['headers'], {
    host: 'a',
    'x-a': 'b',
  })
  assert.is(any.state('requestSnapshot initial request', 'request')['path'], '/next')
  assert.equal(
    [...mine.request.entries()].map(([name]) => name),
    ['host', 'x-a'],
  )
})

watching('a token is for one trace: used again it is only removed', () => {
  const all = watchers()
  all.add(new TraceWatcher(), null, `${TOKEN}1`)
  all.add(new TraceWatcher(), null, `${TOKEN}2`)?.()
  all.attachTrace(exchangeFor('/first', markedBy(`${TOKEN}1`)))
  assert.is(all.count, 0)
  assert.not.ok(all.isIdle)
  for (const token of [`${TOKEN}1`, `${TOKEN}2`]) {
    const again = exchangeFor('/again', markedBy(token))
    all.attachTrace(again)
    assert.is(again.trace, null)
    assert.is(again.request.get('x-gateway-trace'), undefined)
  }
})

watching('remembers a bounded number of used tokens', () => {
  const all = watchers()
  for (let i = 0; i < 200; i++) all.add(new TraceWatcher(), null, `${TOKEN}${i}`)?.()
  const kept = Array.from({ length: 200 }, (_, i) => {
    const exchange = exchangeFor('/', markedBy(`${TOKEN}${i}`))
    all.attachTrace(exchange)
    return exchange.request.get('x-gateway-trace') === undefined
  })
  assert.is(kept.filter(Boolean).length, 64)
  assert.ok(kept.at(-1))
})

watching('with an expression, too, the token is used by the request that matches', () => {
  const all = watchers()
  const own = new TraceWatcher()
  all.add(own, compileExpression('request.path == "/b"', 'trace'), `${TOKEN}1`)
  const [a, b] = [
    exchangeFor('/a', markedBy(`${TOKEN}1`)),
    exchangeFor('/b', markedBy(`${TOKEN}1`)),
  ]
  for (const exchange of [a, b]) all.attachTrace(exchange)
  assert.is(a.trace, null)
  assert.is(a.request.get('x-gateway-trace'), undefined)
  assert.is(own.state('requestSnapshot initial request', 'request')['path'], '/b')
})

watching('a token that could be guessed is refused', () => {
  const all = watchers()
  for (const token of ['', 'a'.repeat(31), 'a'.repeat(129), `${'a'.repeat(32)}\n`])
    assert.equal(startTrace(all, { expression: null, token }), {
      kind: 'refused',
      status: 400,
      reason: 'invalid token: expected 32 to 128 letters, digits, - or _',
    })
  assert.is(startTrace(all, { expression: null, token: createTraceToken() }).kind, 'granted')
  assert.is.not(createTraceToken(), createTraceToken())
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
