// Limits beside the plans: what keeps its counts over a reload, and what is told of it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compile } from '../../lib/base/cel/compile.ts'
import type { LimitConfig } from '../../lib/base/config/limit-types.ts'
import { KEYS_GLANCED_AT, Limits, MAX_KEYS_SHOWN } from '../../lib/enforce/limits.ts'

const standing = suite('limits')

/** As another load of the same text gives it: the key is compiled anew. */
function limitOf(changes: Partial<LimitConfig> = {}, key = 'jwt.sub'): LimitConfig {
  const compiled = compile(key, 'tokenLimitKey')
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

standing('keeps a limit, and what it has counted, while its words stay the same', () => {
  const limits = new Limits()
  const rule = limits.of('route/a', limitOf())
  rule.shared.take(0)
  assert.is(limits.of('route/a', limitOf()), rule)
})

standing('starts a limit anew when anything about it has changed', () => {
  const limits = new Limits()
  const rules = [
    limits.of('route/a', limitOf()),
    limits.of('route/b', limitOf()),
    limits.of('route/a', limitOf({ name: 'local[1]' })),
    limits.of('route/a', limitOf({ counts: 'requests' })),
    limits.of('route/a', limitOf({ amount: 5 })),
    limits.of('route/a', limitOf({ most: 20 })),
    limits.of('route/a', limitOf({ interval: 1000 })),
    limits.of('route/a', limitOf({}, 'jwt.iss')),
    limits.of('route/a', limitOf({ key: null })),
  ]
  assert.is(new Set(rules).size, rules.length)
})

standing('forgets those that nobody names any more', () => {
  const limits = new Limits()
  const kept = limits.of('route/a', limitOf())
  const dropped = limits.of('route/b', limitOf())
  limits.retain(new Set([kept]))
  assert.is(limits.of('route/a', limitOf()), kept)
  assert.is.not(limits.of('route/b', limitOf()), dropped)
})

standing('has a clock of its own that begins with the rule', () => {
  const limits = new Limits()
  const rule = limits.of('route/a', limitOf())
  const now = rule.now()
  assert.is(now, Math.floor(now))
  assert.is(rule.shared.allowance(now).reset, 60)
})

standing('tells of each limit what is left, and of its keys the tightest', () => {
  let time = 0
  const limits = new Limits(() => time)
  const rule = limits.of('route/a', limitOf())
  limits.of('gateway/g', limitOf({ counts: 'requests', key: null, most: 15 }))
  rule.shared.spend(4, 0)
  for (let at = 0; at < 100; at++) rule.keyed!.of(`u${at}`, 0).spend(at / 10, 0)
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

standing('lets those who look often look at the keys that were used last', () => {
  const limits = new Limits(() => 0)
  const rule = limits.of('route/a', limitOf())
  limits.of('route/b', limitOf({ key: null })).shared.spend(3, 0)
  rule.keyed!.of('long ago', 0).spend(9, 0)
  for (let at = 0; at < KEYS_GLANCED_AT; at++) rule.keyed!.of(`u${at}`, 0).spend(1, 0)
  const [glanced] = limits.glance()
  assert.is(glanced!.id, limits.status()[0]!.id)
  assert.is(glanced!.keys, KEYS_GLANCED_AT + 1)
  assert.equal(glanced!.tightest[0], { key: `u${KEYS_GLANCED_AT - 1}`, remaining: 9 })
  assert.equal(
    [...limits.tightest()].map(({ remaining }) => remaining),
    [9, 7],
  )
  rule.keyed!.of('long ago', 0)
  assert.is([...limits.tightest()][0]!.remaining, 1)
})

standing.run()
