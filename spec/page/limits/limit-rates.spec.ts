// Rate limits in words, and when they will be used up.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  consumptionOf,
  consumptionText,
  extendToNow,
  forecastOf,
  leftOf,
  levelOf,
  limitText,
  rateOf,
  recentLowOf,
  selectRules,
  shareLeft,
  tightestKey,
} from '../../../lib/page/limits/limit-rates.ts'
import type { Point } from '../../../lib/page/limits/limit-rates.ts'
import type { LimitRule } from '../../../lib/admin/page-api/page-api-types.ts'

function rule(more: Partial<LimitRule> = {}): LimitRule {
  return {
    ...{ id: 'x', name: 'local[0]', owner: 'route/a', counts: 'requests', amount: 100, limit: 100 },
    ...{ interval: 60_000, key: null, remaining: 100, reset: 30, keys: 0, tightest: [] },
    ...{ decisions: { allow: 0, deny: 0, failed: 0 }, history: [] },
    ...more,
  }
}

/** A point every two seconds. */
const line = (...left: readonly number[]): Point[] => left.map((one, at) => [at * 2_000, one])

const limiting = suite('page/limit-rates')

limiting('a limit is said as people say it', () => {
  assert.is(
    limitText(rule({ counts: 'tokens', amount: 1000, limit: 1000 })),
    '1,000 tokens per minute',
  )
  assert.is(limitText(rule({ amount: 1, limit: 1, interval: 1000 })), '1 request per second')
  assert.is(
    limitText(rule({ amount: 10, limit: 30, interval: 3_600_000 })),
    '10 requests per hour, up to 30 at once',
  )
  assert.is(limitText(rule({ interval: 90_000 })), '100 requests per 90 s')
})

limiting('the remaining amount is that of the bucket with the least left', () => {
  const keyed = rule({ key: 'jwt.sub', tightest: [{ key: 'ann', remaining: 7 }] })
  assert.equal([leftOf(keyed), tightestKey(keyed)], [7, 'ann'])
  const shared = rule({ key: 'jwt.sub', remaining: 3, tightest: [{ key: 'ann', remaining: 7 }] })
  assert.equal([leftOf(shared), tightestKey(shared)], [3, null])
  assert.equal([leftOf(rule()), tightestKey(rule())], [100, null])
  assert.equal(
    [0, 10, 20, 100].map((left) => levelOf(left, 100)),
    ['empty', 'little', 'enough', 'enough'],
  )
  assert.equal([shareLeft(-5, 10), shareLeft(50, 10), shareLeft(0, 0)], [0, 1, 0])
})

limiting('a limit that was empty a moment ago counts as low', () => {
  assert.is(recentLowOf(rule({ history: line(100, 0, 100) })), 0)
  const long = [[0, 0] as const, [120_000, 90] as const]
  assert.ok(recentLowOf(rule({ history: long })) >= 0.9, 'two minutes ago is long ago')
})

limiting('limits with the least left come first, others in configuration order', () => {
  const rules = [
    rule({ id: 'full' }),
    rule({ id: 'half', remaining: 50 }),
    rule({ id: 'empty', remaining: 0 }),
    rule({
      id: 'full too',
      owner: 'route/b',
      key: 'jwt.sub',
      tightest: [{ key: 'bob', remaining: 100 }],
    }),
  ]
  const ids = (words: string, order: 'tightest' | 'written'): string[] =>
    selectRules(rules, words, order).map(({ id }) => id)
  assert.equal(ids('', 'tightest'), ['empty', 'half', 'full', 'full too'])
  assert.equal(ids('', 'written'), ['full', 'half', 'empty', 'full too'])
  assert.equal(ids('BOB route/b', 'tightest'), ['full too'])
  assert.equal(ids('per minute route/a', 'written'), ['full', 'half', 'empty'])
  assert.equal(ids('nobody', 'written'), [])
})

limiting('the pace is that since it was filled up last', () => {
  assert.is(rateOf(line(100, 80, 60)), 40 / 4_000)
  assert.is(rateOf(line(10, 5, 0, 100, 90, 80)), 20 / 4_000)
  assert.is(rateOf(line(50, 50, 50)), 0)
  assert.is(rateOf(line(50, 40)), 0, 'two seconds are too short')
  assert.is(rateOf([]), 0)
  const long = Array.from({ length: 60 }, (_, at) => (at < 40 ? 1000 - at * 20 : 220))
  assert.is(rateOf(line(...long)), 0, 'what was a minute ago is no pace')
})

/** The text for a limit of a minute. */
function said(points: readonly Point[], left: number, refill = 30_000, interval = 60_000): string {
  return consumptionText(
    consumptionOf(points, { left, refill, interval }),
    { counts: 'requests', interval },
    refill,
  )
}

limiting('says when it will be empty, if that is before it is filled up', () => {
  const falling = line(100, 90, 80, 70)
  assert.is(said(falling, 70), 'Empty in about 15 s at this rate')
  assert.is(said(falling, 70, 4_500), 'Refills in 5 s, with about 48 requests left at this rate')
})

limiting('says when the refill is, if nothing is left or nothing is used', () => {
  assert.is(said([], 0), 'Empty, refills in 30 s')
  assert.is(said([], -3, 0), 'Empty, refills now')
  assert.is(said(line(9, 9, 9), 9), 'Refills in 30 s')
  assert.is(said(line(100, 90, 80, 70), 70, 1_000, 1_000), 'Refills every second')
})

limiting('the forecast line ends where the forecast ends', () => {
  const falling = line(100, 90, 80, 70)
  const ahead = (refill: number): Point[] =>
    forecastOf(falling, consumptionOf(falling, { left: 70, interval: 60_000, refill }), refill)
  assert.equal(ahead(30_000), [
    [6_000, 70],
    [20_000, 0],
  ])
  assert.equal(ahead(2_000), [
    [6_000, 70],
    [8_000, 60],
  ])
  assert.equal(forecastOf(falling, { kind: 'steady' }, 1), [])
  assert.equal(forecastOf([], { kind: 'ending', time: 1 }, 1), [])
})

limiting('the history continues with the current value', () => {
  assert.equal(extendToNow(line(5, 5), 5, 3_000).at(-1), [5_000, 5])
  assert.equal(extendToNow(line(5, 5), 5, 0).length, 2)
  assert.equal(extendToNow(line(5, 5), 4, 0).at(-1), [2_001, 4])
  assert.equal(extendToNow([], 4, 100), [])
})

limiting.run()
