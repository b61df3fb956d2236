// The limits on the page: remaining quota, its history, and no credentials.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../../lib/expressions/compile.ts'
import type { LimitConfig } from '../../../lib/config/policy-types.ts'
import { ConfigFormatter } from '../../../lib/config/show.ts'
import { MAX_LISTED_ENTRIES } from '../../../lib/core/runtime-views.ts'
import { LimitRegistry } from '../../../lib/enforce/limit/limits.ts'
import type { LimitsView } from '../../../lib/admin/page-api/page-api-types.ts'
import {
  buildLimitsView,
  isSameLimits,
  LimitHistory,
  MAX_POINTS,
  MAX_RULES,
} from '../../../lib/admin/page-api/limits-view.ts'

const test = suite('ui/limits')

function limitOf(key: string | null, name = 'local[0]'): LimitConfig {
  const compiled = key === null ? null : compileExpression(key, 'requestLimitKey')
  const terms = { counts: 'requests', amount: 10, most: 12, interval: 60_000 } as const
  return { name, resource: null, ...terms, key: compiled }
}

class World {
  now = 0
  readonly limits = new LimitRegistry(() => this.now)
  readonly history = new LimitHistory()
  readonly #showing = new ConfigFormatter(['x-mine'])

  get view(): LimitsView {
    return buildLimitsView(this.limits.recentStatus(), this.#showing, this.history)
  }

  /** One sample later. */
  passes(ms: number): void {
    this.now += ms
    this.history.take(this.now, () => this.limits.tightestRemaining())
  }
}

test('shows what each rule counts and its remaining quota, in total and by key', () => {
  const world = new World()
  const rule = world.limits.ruleFor('route/a', limitOf('jwt.sub'))
  rule.decisions.allow = 5
  rule.shared.spend(2, 0)
  rule.keyed!.bucketFor('ann', 0).spend(7, 0)
  rule.keyed!.bucketFor('bob', 0).spend(11, 0)
  const { shown, more } = world.view.rules
  assert.is(more, 0)
  const { id, ...shownRule } = shown[0]!
  assert.ok(id !== '')
  assert.equal(shownRule, {
    ...{ name: 'local[0]', owner: 'route/a', counts: 'requests', limit: 12, interval: 60_000 },
    amount: 10,
    key: 'jwt.sub',
    remaining: 10,
    reset: 60,
    keys: 2,
    tightest: [
      { key: 'bob', remaining: 1 },
      { key: 'ann', remaining: 5 },
    ],
    decisions: { allow: 5, deny: 0, failed: 0 },
    history: [],
  })
})

test('hides values of a key that reads credentials', () => {
  for (const key of ['request.headers["authorization"]', 'request.headers["x-mine"]']) {
    const world = new World()
    world.limits.ruleFor('route/a', limitOf(key)).keyed!.bucketFor('Bearer hush', 0).spend(1, 0)
    world.passes(2000)
    const text = JSON.stringify(world.view)
    assert.not.match(text, 'hush')
    assert.match(text, '"key":"<redacted>"')
  }
})

test('shows some of many rules, and counts the others', () => {
  const world = new World()
  for (let at = 0; at < MAX_LISTED_ENTRIES + 7; at++)
    world.limits.ruleFor(`route/${at}`, limitOf(null))
  assert.equal([world.view.rules.shown.length, world.view.rules.more], [MAX_LISTED_ENTRIES, 7])
})

test('keeps the remaining quota of the tightest bucket, one point every two seconds', () => {
  const world = new World()
  const rule = world.limits.ruleFor('route/a', limitOf('jwt.sub'))
  const other = world.limits.ruleFor('route/b', limitOf(null))
  const bucket = rule.keyed!.bucketFor('ann', 0)
  for (let second = 0; second < 4; second++) {
    bucket.spend(1, world.now)
    world.passes(1000)
  }
  const [first, second] = world.view.rules.shown
  assert.equal(first!.history, [
    [1000, 11],
    [3000, 9],
  ])
  assert.equal(second!.history[0], [1000, 12])
  world.limits.retain(new Map([[other, other.config.name]]))
  world.passes(2000)
  assert.is(world.history.pointsOf(first!.id).length, 0)
  assert.is(world.history.pointsOf(second!.id).length, 3)
})

test('keeps a limited number of points, for a limited number of rules', () => {
  const world = new World()
  for (let at = 0; at < MAX_RULES + 3; at++) world.limits.ruleFor(`route/${at}`, limitOf(null))
  for (let at = 0; at < MAX_POINTS + 10; at++) world.passes(2000)
  const { shown } = world.view.rules
  assert.is(shown[0]!.history.length, MAX_POINTS)
  assert.is(shown[0]!.history[0]![0], 2000 * 11)
  assert.equal(shown.filter(({ history }) => history.length > 0).length, MAX_RULES)
})

test('detects changes other than the passing of time', () => {
  const world = new World()
  const rule = world.limits.ruleFor('route/a', limitOf('jwt.sub'))
  rule.keyed!.bucketFor('ann', 0)
  let before = world.view
  const changes = (act: () => void): boolean => {
    act()
    const now = world.view
    const isSame = isSameLimits(now, before)
    before = now
    return !isSame
  }
  const wait = (ms: number) => () => void (world.now += ms)
  assert.not.ok(changes(wait(10_000)))
  assert.ok(changes(() => rule.keyed!.bucketFor('ann', world.now).spend(1, world.now)))
  assert.ok(changes(() => rule.shared.spend(1, world.now)))
  assert.ok(changes(() => rule.keyed!.bucketFor('bob', world.now)))
  assert.ok(changes(() => rule.decisions.deny++))
  assert.not.ok(changes(wait(40_000)))
  // The window was reset.
  assert.ok(changes(wait(20_000)))
  assert.ok(changes(() => world.limits.ruleFor('route/b', limitOf(null))))
})

test.run()
