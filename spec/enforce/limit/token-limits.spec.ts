import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExchangeFacts } from '../../../lib/core/facts.ts'
import type { Exchange } from '../../../lib/core/exchange.ts'
import type { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import type { TokenLimitPolicy, Reply } from '../../../lib/core/types.ts'
import { LimitRegistry } from '../../../lib/enforce/limit/limits.ts'
import { createTokenLimitPolicy } from '../../../lib/enforce/limit/local-limits.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { estimateFor } from '../../support/llm/estimates.ts'

const metering = suite('token limits')

/** The limits of a route from configuration text, with a clock that is fixed at `time`. */
class Stage {
  time = 0
  readonly rules: readonly RateLimitRule[]
  readonly meter: TokenLimitPolicy

  constructor(...entries: string[]) {
    const limits = new LimitRegistry(() => this.time)
    const local = entries.map((entry) => `{ ${entry} }`).join(', ')
    const text = `backends: [{ host: "a:1" }], policies: { rateLimit: { local: [${local}] } }`
    const { routes } = firstListener(ungatedConfig(routeText(text)))
    this.rules = routes[0]!.limits.map((config) => limits.ruleFor('route', config))
    this.meter = createTokenLimitPolicy(this.rules)
  }

  exchange(facts: ExchangeFacts | null = null): Exchange {
    const exchange = exchangeOf(requestOf('POST /v1/chat/completions HTTP/1.1', 'Host: h'))
    exchange.facts = facts
    return exchange
  }

  admit(exchange: Exchange, estimate = 1): Reply | undefined {
    const verdict = this.meter.admit(exchange, estimateFor(estimate))
    assert.not.instance(verdict, Promise)
    return verdict as Reply | undefined
  }

  /** Runs a request from admission to settlement; false when it is refused. */
  call(
    estimate: number,
    input: number,
    output: number,
    facts: ExchangeFacts | null = null,
  ): boolean {
    const exchange = this.exchange(facts)
    if (this.admit(exchange, estimate) !== undefined) return false
    for (const charge of exchange.enforcement.charges)
      charge.settle({ input, output, basis: 'counted' })
    return true
  }

  left(at = 0): number {
    return this.rules[at]!.shared.remaining(this.time)
  }
}

metering('charges an estimate at admission and the real counts afterwards', () => {
  const stage = new Stage('tokens: 100, unit: Minutes')
  const exchange = stage.exchange()
  assert.is(stage.admit(exchange, 30), undefined)
  assert.is(stage.left(), 70)
  assert.is(exchange.enforcement.charges.length, 1)
  exchange.enforcement.charges[0]!.settle({ input: 9, output: 12, basis: 'counted' })
  assert.is(stage.left(), 79)
})

metering('passes the request that overshoots, and refuses the next until the window ends', () => {
  const stage = new Stage('tokens: 100, unit: Minutes')
  assert.ok(stage.call(5, 60, 39))
  assert.is(stage.left(), 1)
  assert.ok(stage.call(5, 4000, 1000))
  assert.not.ok(stage.call(1, 1, 1))
  stage.time = 59_999
  assert.not.ok(stage.call(1, 1, 1))
  stage.time = 60_000
  assert.is(stage.left(), 100)
  assert.ok(stage.call(1, 1, 1))
})

metering('refuses in plain text with retry-after', () => {
  const stage = new Stage('tokens: 10, unit: Minutes')
  stage.call(10, 10, 10)
  stage.time = 20_500
  const exchange = stage.exchange()
  const reply = stage.admit(exchange)
  assert.ok(reply)
  assert.is(reply.head.status, 429)
  assert.is(reply.head.get('content-type'), 'text/plain')
  assert.is(reply.head.get('retry-after'), '40')
  assert.is(contentOf(reply), 'rate limit exceeded')
  assert.equal(exchange.enforcement.allowance, { limit: 10, remaining: 0, reset: 40 })
  assert.equal(exchange.enforcement.charges, [])
})

metering('does not admit all concurrent requests', () => {
  for (const [budget, estimate, passed] of [
    [50, 10, 5],
    [55, 10, 6],
    [1, 10, 1],
    [50, 1, 50],
  ] as const) {
    const stage = new Stage(`tokens: ${budget}, unit: Minutes`)
    const words = Array.from({ length: 100 }, () => stage.admit(stage.exchange(), estimate))
    assert.is(words.filter((word) => word === undefined).length, passed)
    assert.ok(words.slice(0, passed).every((word) => word === undefined))
  }
})

metering('admits more requests when running ones settle for less', () => {
  const stage = new Stage('tokens: 50, unit: Minutes')
  const first = stage.exchange()
  stage.admit(first, 50)
  assert.ok(stage.admit(stage.exchange(), 10))
  first.enforcement.charges[0]!.settle({ input: 20, output: 10, basis: 'counted' })
  assert.is(stage.left(), 20)
  assert.is(stage.admit(stage.exchange(), 10), undefined)
})

metering('needs a request to pass every entry, and charges none when one refuses', () => {
  const stage = new Stage('tokens: 1000, unit: Hours', 'tokens: 10, unit: Seconds')
  assert.ok(stage.call(5, 5, 15))
  assert.equal([stage.left(0), stage.left(1)], [980, 0])
  const exchange = stage.exchange()
  assert.ok(stage.admit(exchange, 100))
  assert.equal(exchange.enforcement.charges, [])
  assert.equal([stage.left(0), stage.left(1)], [980, 0])
  stage.time = 1000
  assert.ok(stage.call(5, 5, 5))
  assert.equal([stage.left(0), stage.left(1)], [970, 0])
})

metering('reports the tightest entry before the real counts are known', () => {
  const stage = new Stage('tokens: 30, unit: Hours', 'tokens: 1000, unit: Seconds')
  const exchange = stage.exchange()
  stage.admit(exchange, 10)
  assert.equal(exchange.enforcement.allowance, { limit: 30, remaining: 20, reset: 3600 })
  exchange.enforcement.charges[0]!.settle({ input: 0, output: 0, basis: 'counted' })
  assert.is(exchange.enforcement.allowance?.remaining, 20)
})

metering('reports a request limit if that is tighter', () => {
  const stage = new Stage('tokens: 30, unit: Hours')
  const exchange = stage.exchange()
  const requests = { limit: 5, remaining: 2, reset: 1 }
  exchange.enforcement.allowance = requests
  stage.admit(exchange, 10)
  assert.is(exchange.enforcement.allowance, requests)
})

metering('reports the latest reset of the exhausted entries to a refused client', () => {
  const stage = new Stage('tokens: 5, unit: Seconds', 'tokens: 5, unit: Hours')
  stage.call(5, 5, 5)
  assert.is(stage.admit(stage.exchange())?.head.get('retry-after'), '3600')
})

metering('keeps a bucket for each key, which may be the model', () => {
  const stage = new Stage('tokens: 10, unit: Minutes, key: llm.requestModel')
  const [small, large]: ExchangeFacts[] = [
    { llm: { requestModel: 's' } },
    { llm: { requestModel: 'l' } },
  ]
  assert.ok(stage.call(1, 10, 10, small))
  assert.not.ok(stage.call(1, 1, 1, small))
  assert.ok(stage.call(1, 1, 1, large))
  assert.is(stage.left(), 10)
})

metering(
  'settles with the bucket that was charged, even if the key has another value by then',
  () => {
    const stage = new Stage('tokens: 10, unit: Minutes, key: jwt.sub')
    const exchange = stage.exchange({ jwt: new Map([['sub', 'a']]) })
    stage.admit(exchange, 1)
    exchange.facts = { jwt: new Map([['sub', 'b']]) }
    exchange.enforcement.charges[0]!.settle({ input: 5, output: 5, basis: 'counted' })
    assert.not.ok(stage.call(1, 1, 1, { jwt: new Map([['sub', 'a']]) }))
    assert.ok(stage.call(1, 1, 1, { jwt: new Map([['sub', 'b']]) }))
  },
)

metering('uses one shared bucket for requests without a key', () => {
  const stage = new Stage('tokens: 10, unit: Minutes, key: jwt.sub')
  assert.ok(stage.call(1, 10, 10))
  assert.not.ok(stage.call(1, 1, 1))
  assert.not.ok(stage.call(1, 1, 1, { jwt: new Map([['sub', '']]) }))
  assert.ok(stage.call(1, 1, 1, { jwt: new Map([['sub', 'a']]) }))
})

metering('ignores request limits', () => {
  const stage = new Stage('requests: 1, unit: Minutes')
  const exchange = stage.exchange()
  for (let count = 0; count < 3; count++) assert.is(stage.admit(exchange, 100), undefined)
  assert.equal(exchange.enforcement.charges, [])
  assert.is(exchange.enforcement.allowance, null)
  assert.is(stage.left(), 1)
})

metering('adds to the charges of other meters', () => {
  const stage = new Stage('tokens: 10, unit: Minutes', 'tokens: 20, unit: Hours')
  const exchange = stage.exchange()
  const other = { raise() {}, settle() {} }
  exchange.enforcement.charges = [other]
  stage.admit(exchange, 1)
  assert.is(exchange.enforcement.charges[0], other)
  assert.is(exchange.enforcement.charges.length, 3)
})

metering('charges a request once when a limit is attached twice', () => {
  const stage = new Stage('tokens: 10, unit: Minutes')
  const exchange = stage.exchange()
  const meter = createTokenLimitPolicy([...stage.rules, ...stage.rules])
  assert.is(meter.admit(exchange, estimateFor(4)), undefined)
  assert.is(exchange.enforcement.charges.length, 1)
  assert.is(stage.left(), 6)
})

metering.run()
