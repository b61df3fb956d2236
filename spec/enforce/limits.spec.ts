import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compile } from '../../lib/base/cel/compile.ts'
import type { LimitConfig } from '../../lib/base/config/limit-types.ts'
import { Limits, MAX_KEYS_SHOWN } from '../../lib/enforce/limits.ts'

const standing = suite('limits')

/** As another load of the same text gives it: the key is compiled anew. */
function limitOf(changes: Partial<LimitConfig> = {}, key = 'jwt.sub'): LimitConfig {
  const compiled = compile(key, 'tokenLimitKey')
  return {
    ...{ name: 'local[0]', counts: 'tokens', amount: 10, most: 10, interval: 60_000 },
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
  assert.is(rule.now(), Math.floor(rule.now()))
  assert.is(rule.shared.allowance(rule.now()).reset, 60)
})

standing('tells of each limit what is left, and of its keys the tightest', () => {
  let time = 0
  const limits = new Limits(() => time)
  const rule = limits.of('route/a', limitOf())
  limits.of('gateway/g', limitOf({ counts: 'requests', key: null, most: 15 }))
  rule.shared.spend(4, 0)
  for (let at = 0; at < 100; at++) rule.keyed!.of(`u${at}`, 0).spend(at / 10, 0)
  time = 2000
  const [first, second] = limits.status()
  const { tightest, key, ...rest } = first!
  assert.is(key!.source, 'jwt.sub')
  assert.equal(rest, {
    ...{ name: 'local[0]', owner: 'route/a', counts: 'tokens', limit: 10, interval: 60_000 },
    keys: 100,
    shared: { limit: 10, remaining: 6, reset: 58 },
  })
  assert.is(tightest.length, MAX_KEYS_SHOWN)
  assert.equal(tightest[0], { key: 'u91', remaining: 0 })
  assert.equal(second, {
    ...{ name: 'local[0]', owner: 'gateway/g', counts: 'requests', limit: 15, interval: 60_000 },
    key: null,
    keys: 0,
    shared: { limit: 15, remaining: 15, reset: 58 },
    tightest: [],
  })
})

standing.run()
