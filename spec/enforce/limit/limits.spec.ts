// The registry of limits: which counts survive a reload, and what its status contains.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compileExpression } from '../../../lib/expressions/compile.ts'
import type { LimitConfig } from '../../../lib/config/policy-types.ts'
import {
  MAX_RECENT_KEYS,
  LimitRegistry,
  MAX_KEYS_SHOWN,
} from '../../../lib/enforce/limit/limits.ts'

const standing = suite('limits')

/** A limit as a reload of the same text creates it: its key is compiled again. */
function limitOf(changes: Partial<LimitConfig> = {}, key = 'jwt.sub'): LimitConfig {
  const compiled = compileExpression(key, 'tokenLimitKey')
  return {
    ...{
      name: 'local[0]',
      resource: null,
      counts: 'tokens',
      amount: 10,
      most: 10,
      interval: 60_000,
    },
    key: compiled,
    ...changes,
  }
}

standing('keeps a limit and its counts while its configuration stays the same', () => {
  const limits = new LimitRegistry()
  const rule = limits.ruleFor('route/a', limitOf())
  rule.shared.take(0)
  assert.is(limits.ruleFor('route/a', limitOf()), rule)
})

standing('starts a new limit when anything in its configuration has changed', () => {
  const limits = new LimitRegistry()
  const rules = [
    limits.ruleFor('route/a', limitOf()),
    limits.ruleFor('route/b', limitOf()),
    limits.ruleFor('route/a', limitOf({ name: 'local[1]' })),
    limits.ruleFor('route/a', limitOf({ counts: 'requests' })),
    limits.ruleFor('route/a', limitOf({ amount: 5 })),
    limits.ruleFor('route/a', limitOf({ most: 20 })),
    limits.ruleFor('route/a', limitOf({ interval: 1000 })),
    limits.ruleFor('route/a', limitOf({}, 'jwt.iss')),
    limits.ruleFor('route/a', limitOf({ key: null })),
  ]
  assert.is(new Set(rules).size, rules.length)
})

standing('removes limits that are no longer configured', () => {
  const limits = new LimitRegistry()
  const kept = limits.ruleFor('route/a', limitOf())
  const dropped = limits.ruleFor('route/b', limitOf())
  limits.retain(new Map([[kept, kept.config.name]]))
  assert.is(limits.ruleFor('route/a', limitOf()), kept)
  assert.is.not(limits.ruleFor('route/b', limitOf()), dropped)
})

standing('starts the windows of a rule when the rule is created', () => {
  const limits = new LimitRegistry()
  const rule = limits.ruleFor('route/a', limitOf())
  const now = rule.now()
  assert.is(now, Math.floor(now))
  assert.is(rule.shared.allowance(now).reset, 60)
})

standing('reports the remaining amount of each limit, and its tightest keys', () => {
  let time = 0
  const limits = new LimitRegistry(() => time)
  const rule = limits.ruleFor('route/a', limitOf())
  limits.ruleFor('gateway/g', limitOf({ counts: 'requests', key: null, most: 15 }))
  rule.shared.spend(4, 0)
  for (let at = 0; at < 100; at++) rule.keyed!.bucketFor(`u${at}`, 0).spend(at / 10, 0)
  time = 2000
  rule.decisions.deny = 3
  const [first, second] = limits.status()
  const { tightest, key, id, ...rest } = first!
  assert.match(id, /^[\w-]{16}$/)
  assert.is(key!.source, 'jwt.sub')
  assert.equal(rest, {
    ...{ name: 'local[0]', owner: 'route/a', counts: 'tokens', limit: 10, interval: 60_000 },
    amount: 10,
    keys: 100,
    shared: { limit: 10, remaining: 6, reset: 58 },
    decisions: { allow: 0, deny: 3, failed: 0 },
  })
  assert.is(tightest.length, MAX_KEYS_SHOWN)
  assert.equal(tightest[0], { key: 'u99', remaining: 0 })
  assert.is.not(second!.id, id)
  assert.equal(second, {
    id: second!.id,
    ...{ name: 'local[0]', owner: 'gateway/g', counts: 'requests', limit: 15, interval: 60_000 },
    amount: 10,
    key: null,
    keys: 0,
    shared: { limit: 15, remaining: 15, reset: 58 },
    tightest: [],
    decisions: { allow: 0, deny: 0, failed: 0 },
  })
})

standing('inspects only recently used keys for frequent reads', () => {
  const limits = new LimitRegistry(() => 0)
  const rule = limits.ruleFor('route/a', limitOf())
  limits.ruleFor('route/b', limitOf({ key: null })).shared.spend(3, 0)
  rule.keyed!.bucketFor('long ago', 0).spend(9, 0)
  for (let at = 0; at < MAX_RECENT_KEYS; at++) rule.keyed!.bucketFor(`u${at}`, 0).spend(1, 0)
  const [glanced] = limits.recentStatus()
  assert.is(glanced!.id, limits.status()[0]!.id)
  assert.is(glanced!.keys, MAX_RECENT_KEYS + 1)
  assert.equal(glanced!.tightest[0], { key: `u${MAX_RECENT_KEYS - 1}`, remaining: 9 })
  assert.equal(
    [...limits.tightestRemaining()].map(({ remaining }) => remaining),
    [9, 7],
  )
  rule.keyed!.bucketFor('long ago', 0)
  assert.is([...limits.tightestRemaining()][0]!.remaining, 1)
})

standing.run()
