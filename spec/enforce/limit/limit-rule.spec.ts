import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../../lib/expressions/compile.ts'
import type { ExchangeFacts } from '../../../lib/core/facts.ts'
import type { LimitConfig } from '../../../lib/config/policy-types.ts'
import type { Exchange } from '../../../lib/core/exchange.ts'
import { createBucketCapacity } from '../../../lib/enforce/limit/keyed-buckets.ts'
import { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'

const living = suite('rule')

function ruleOf(counts: LimitConfig['counts'], key: string | null, now = () => 0): RateLimitRule {
  const place = counts === 'tokens' ? 'tokenLimitKey' : 'requestLimitKey'
  const compiled = key === null ? null : compileExpression(key, place)
  const origin = { name: 'one', resource: null }
  const config = { ...origin, counts, amount: 3, most: 3, interval: 1000, key: compiled }
  return new RateLimitRule('one', config, now, createBucketCapacity())
}

function exchangeWith(facts: ExchangeFacts | null, ...fields: string[]): Exchange {
  const exchange = exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h', ...fields))
  exchange.facts = facts
  return exchange
}

function user(sub: unknown): Exchange {
  return exchangeWith({ jwt: new Map([['sub', sub]]) })
}

living('without a key has one bucket for all', () => {
  const rule = ruleOf('requests', null)
  assert.is(rule.bucketForExchange(user('a'), 0), rule.shared)
  assert.is(rule.bucketForExchange(user('b'), 0), rule.shared)
  assert.is(rule.keyed, null)
})

living('with a key has a bucket for each of its values', () => {
  const rule = ruleOf('requests', 'jwt.sub')
  const bucket = rule.bucketForExchange(user('a'), 0)
  assert.is.not(bucket, rule.shared)
  assert.is(rule.bucketForExchange(user('a'), 0), bucket)
  assert.is.not(rule.bucketForExchange(user('b'), 0), bucket)
  assert.is(rule.keyed!.size, 2)
})

living('evaluates keys from tokens, API keys, headers and models', () => {
  const cases: [key: string, exchange: Exchange][] = [
    ['jwt.sub', user('a')],
    ['apiKey.user_id', exchangeWith({ apiKey: new Map([['user_id', 'u']]) })],
    ['request.headers["x-user"]', exchangeWith(null, 'X-User: u')],
    ['llm.requestModel', exchangeWith({ llm: { requestModel: 'gpt' } })],
    [
      'jwt.sub + llm.requestModel',
      exchangeWith({ jwt: new Map([['sub', 'a']]), llm: { requestModel: 'm' } }),
    ],
    ['jwt.sub', user(7n)],
    ['source.address', exchangeWith(null)],
  ]
  for (const [key, exchange] of cases) {
    const rule = ruleOf('tokens', key)
    assert.is.not(rule.bucketForExchange(exchange, 0), rule.shared, key)
  }
})

living('uses the shared bucket when the key is empty or cannot be evaluated', () => {
  const rule = ruleOf('requests', 'jwt.sub')
  const sharing = [
    exchangeWith(null),
    exchangeWith({}),
    user(''),
    user(null),
    user([1]),
    user(new Map()),
  ]
  for (const exchange of sharing) assert.is(rule.bucketForExchange(exchange, 0), rule.shared)
  assert.is(rule.keyed!.size, 0)
})

living('counts requests without a key: they are not exempt', () => {
  const rule = ruleOf('requests', 'jwt.sub')
  const words = Array.from({ length: 4 }, () =>
    rule.bucketForExchange(exchangeWith(null), 0).take(0),
  )
  assert.equal(words, [true, true, true, false])
  assert.ok(rule.bucketForExchange(user('a'), 0).take(0))
})

living(
  'for requests, a key that reads the model has one bucket: the body is not parsed yet',
  () => {
    const rule = ruleOf('requests', 'llm.requestModel')
    assert.is(rule.bucketForExchange(exchangeWith(null), 0), rule.shared)
    assert.is(rule.bucketForExchange(user('a'), 0), rule.shared)
  },
)

living('starts its first window when it is created', () => {
  let time = 700
  const rule = ruleOf('requests', 'jwt.sub', () => time)
  rule.shared.spend(3, time)
  time = 1699
  assert.is(rule.shared.allowance(time).remaining, 0)
  const bucket = rule.bucketForExchange(user('a'), time)
  bucket.spend(3, time)
  time = 1700
  assert.is(rule.shared.remaining(time), 3)
  assert.is(bucket.remaining(time), 3)
})

living.run()
