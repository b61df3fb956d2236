import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LimitConfig } from '../../../lib/config/policy-types.ts'
import type { Exchange } from '../../../lib/core/exchange.ts'
import type { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import { buildResponseHead } from '../../../lib/core/replies.ts'
import type { Policy } from '../../../lib/core/types.ts'
import { LimitRegistry } from '../../../lib/enforce/limit/limits.ts'
import { createLocalRateLimitPolicy } from '../../../lib/enforce/limit/local-limits.ts'
import { replyOf, replyOrPass } from '../../support/policy-reply.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { contentOf, exchangeOf, requestOf } from '../../support/exchange-of.ts'

const limiting = suite('local limit')

/** The limits of a route from configuration text, with a clock that is fixed at `time`. */
class Stage {
  time = 0
  readonly limits = new LimitRegistry(() => this.time)
  readonly configs: readonly LimitConfig[]
  readonly rules: readonly RateLimitRule[]
  readonly policy: Policy

  constructor(...entries: string[]) {
    const local = entries.map((entry) => `{ ${entry} }`).join(', ')
    const text = `backends: [{ host: "a:1" }], policies: { rateLimit: { local: [${local}] } }`
    this.configs = firstListener(ungatedConfig(routeText(text))).routes[0]!.limits
    this.rules = this.configs.map((config) => this.limits.ruleFor('route', config))
    this.policy = createLocalRateLimitPolicy(this.rules)
  }

  exchange(...fields: string[]): Exchange {
    return exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h', ...fields))
  }

  /** The status of the policy's response, or `passes`. */
  ask(...fields: string[]): number | 'passes' {
    return replyOrPass(this.policy, this.exchange(...fields))?.head.status ?? 'passes'
  }

  /** Limit, remaining and reset from the response headers. */
  limitHeaders(...fields: string[]): string {
    const exchange = this.exchange(...fields)
    const head = replyOrPass(this.policy, exchange)?.head ?? buildResponseHead(200, [])
    this.policy.response!(exchange, head)
    return headers(head)
  }
}

function headers(head: { get(name: string): string | undefined }): string {
  const names = ['limit', 'remaining', 'reset'] as const
  return names.map((name) => head.get(`x-ratelimit-${name}`)).join(' ')
}

limiting(
  'refuses with 429 when the budget is exhausted, and passes again in the next window',
  () => {
    const stage = new Stage('requests: 2, unit: Minutes')
    assert.equal(
      [stage.ask(), stage.ask(), stage.ask(), stage.ask()],
      ['passes', 'passes', 429, 429],
    )
    stage.time = 59_999
    assert.is(stage.ask(), 429)
    stage.time = 60_000
    assert.equal([stage.ask(), stage.ask(), stage.ask()], ['passes', 'passes', 429])
  },
)

limiting('responds in plain text with retry-after', () => {
  const stage = new Stage('requests: 1, unit: Hours')
  stage.ask()
  stage.time = 1_800_001
  const exchange = stage.exchange()
  const reply = replyOf(stage.policy, exchange)
  stage.policy.response!(exchange, reply.head)
  assert.is(reply.head.status, 429)
  assert.is(reply.head.get('content-type'), 'text/plain')
  assert.is(reply.head.get('retry-after'), '1800')
  assert.is(headers(reply.head), '1 0 1800')
  assert.is(contentOf(reply), 'rate limit exceeded')
})

limiting('has windows of the configured unit', () => {
  for (const [unit, ms] of [
    ['Seconds', 1000],
    ['Minutes', 60_000],
    ['Hours', 3_600_000],
  ] as const) {
    const stage = new Stage(`requests: 1, unit: ${unit}`)
    stage.ask()
    stage.time = ms - 1
    assert.is(stage.ask(), 429, unit)
    stage.time = ms
    assert.is(stage.ask(), 'passes', unit)
  }
})

limiting('adds limit, remaining and reset headers to passed and refused responses', () => {
  const stage = new Stage('requests: 2, unit: Minutes')
  assert.is(stage.limitHeaders(), '2 1 60')
  stage.time = 20_500
  assert.is(stage.limitHeaders(), '2 0 40')
  assert.is(stage.limitHeaders(), '2 0 40')
})

limiting('adds the burst to the maximum, and refills it only at the rate of the limit', () => {
  const stage = new Stage('requests: 2, burst: 3, unit: Seconds')
  assert.is(stage.limitHeaders(), '5 4 1')
  for (let taken = 1; taken < 5; taken++) assert.is(stage.ask(), 'passes')
  assert.is(stage.ask(), 429)
  stage.time = 1000
  assert.equal([stage.ask(), stage.ask(), stage.ask()], ['passes', 'passes', 429])
})

limiting('needs a request to pass every entry', () => {
  const stage = new Stage('requests: 3, unit: Seconds', 'requests: 4, unit: Hours')
  assert.equal(
    [1, 2, 3, 4].map(() => stage.ask()),
    ['passes', 'passes', 'passes', 429],
  )
  stage.time = 1000
  assert.equal([stage.ask(), stage.ask()], ['passes', 429])
  stage.time = 2000
  assert.is(stage.ask(), 429)
})

limiting('does not refund an earlier entry when a later one refuses', () => {
  const stage = new Stage('requests: 3, unit: Hours', 'requests: 1, unit: Seconds')
  assert.equal([stage.ask(), stage.ask(), stage.ask()], ['passes', 429, 429])
  assert.is(stage.rules[0]!.shared.remaining(0), 0)
  stage.time = 1000
  assert.is(stage.ask(), 429)
})

limiting('does not check later entries after one has refused', () => {
  const stage = new Stage('requests: 1, unit: Seconds', 'requests: 5, unit: Hours')
  assert.equal([stage.ask(), stage.ask(), stage.ask()], ['passes', 429, 429])
  assert.is(stage.rules[1]!.shared.remaining(0), 4)
})

limiting('reports the tightest entry: the least remaining, and of two the later reset', () => {
  const stage = new Stage('requests: 10, unit: Seconds', 'requests: 3, unit: Hours')
  assert.is(stage.limitHeaders(), '3 2 3600')
  const tied = new Stage('requests: 2, unit: Hours', 'requests: 2, unit: Seconds')
  assert.is(tied.limitHeaders(), '2 1 3600')
  const turned = new Stage('requests: 2, unit: Seconds', 'requests: 2, unit: Hours')
  assert.is(turned.limitHeaders(), '2 1 3600')
})

limiting('reports the latest reset of the exhausted entries to a refused client', () => {
  const stage = new Stage('requests: 1, unit: Hours', 'requests: 1, unit: Seconds')
  stage.ask()
  const reply = replyOf(createLocalRateLimitPolicy(stage.rules), stage.exchange())
  assert.is(reply.head.get('retry-after'), '3600')
  const both = new Stage('requests: 2, unit: Hours', 'requests: 1, unit: Seconds')
  both.ask()
  assert.is(replyOf(both.policy, both.exchange()).head.get('retry-after'), '3600')
})

limiting('keeps a bucket for each key, with the same limits', () => {
  const stage = new Stage('requests: 1, unit: Minutes, key: "request.headers[\\"x-user\\"]"')
  assert.equal([stage.ask('x-user: a'), stage.ask('x-user: a')], ['passes', 429])
  assert.is(stage.limitHeaders('x-user: b'), '1 0 60')
  assert.is(stage.ask('x-user: c'), 'passes')
})

limiting('uses one shared bucket for clients without a key', () => {
  const stage = new Stage('requests: 1, unit: Minutes, key: jwt.sub')
  assert.equal([stage.ask(), stage.ask()], ['passes', 429])
  const exchange = stage.exchange()
  exchange.facts = { jwt: new Map([['sub', 'a']]) }
  assert.is(replyOrPass(stage.policy, exchange), undefined)
})

limiting('uses one shared bucket when the key reads the model', () => {
  const stage = new Stage('requests: 1, unit: Minutes, key: llm.requestModel')
  assert.equal([stage.ask(), stage.ask()], ['passes', 429])
})

limiting('counts no requests for a token limit, and still adds its headers', () => {
  const stage = new Stage('tokens: 1, unit: Minutes')
  assert.equal([stage.ask(), stage.ask(), stage.ask()], ['passes', 'passes', 'passes'])
  const exchange = stage.exchange()
  const head = buildResponseHead(200, [])
  stage.policy.response!(exchange, head)
  assert.is(headers(head), '  ')
  exchange.enforcement.allowance = { limit: 9, remaining: 4, reset: 7 }
  stage.policy.response!(exchange, head)
  assert.is(headers(head), '9 4 7')
})

limiting('replaces the rate limit headers of the backend', () => {
  const stage = new Stage('requests: 2, unit: Minutes')
  const exchange = stage.exchange()
  replyOrPass(stage.policy, exchange)
  const head = buildResponseHead(200, [
    ['x-ratelimit-limit', '1000'],
    ['x-ratelimit-remaining', '999'],
    ['x-ratelimit-remaining', '998'],
    ['x-ratelimit-reset', '1s'],
    ['x-ratelimit-limit-tokens', '5'],
  ])
  stage.policy.response!(exchange, head)
  assert.equal(head.getAll('x-ratelimit-remaining'), ['1'])
  assert.is(headers(head), '2 1 60')
  assert.is(head.get('x-ratelimit-limit-tokens'), '5')
})

limiting('reports the tighter limit of two policies', () => {
  const [gateway, route] = [
    new Stage('requests: 9, unit: Hours'),
    new Stage('requests: 5, unit: Minutes'),
  ]
  const exchange = route.exchange()
  replyOrPass(gateway.policy, exchange)
  replyOrPass(route.policy, exchange)
  assert.equal(exchange.enforcement.allowance, { limit: 5, remaining: 4, reset: 60 })
})

limiting('counts a request once when a limit is attached twice', () => {
  const stage = new Stage('requests: 2, unit: Minutes')
  const policy = createLocalRateLimitPolicy([...stage.rules, ...stage.rules])
  const words = [1, 2, 3].map(() => replyOrPass(policy, stage.exchange())?.head.status)
  assert.equal(words, [undefined, undefined, 429])
})

limiting('keeps its counts when the configuration is reloaded', () => {
  const stage = new Stage('requests: 2, unit: Minutes')
  stage.ask()
  const again = new Stage('requests: 2, unit: Minutes')
  const rules = again.configs.map((config) => stage.limits.ruleFor('route', config))
  stage.limits.retain(new Map(rules.map((rule) => [rule, rule.config.name])))
  const policy = createLocalRateLimitPolicy(rules)
  const words = [1, 2].map(() => replyOrPass(policy, stage.exchange())?.head.status)
  assert.equal(words, [undefined, 429])
})

limiting.run()
