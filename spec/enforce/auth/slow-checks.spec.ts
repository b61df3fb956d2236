import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  MAX_PENDING_CHECKS,
  MAX_PENDING_CHECKS_PER_ADDRESS,
  SlowHashChecks,
} from '../../../lib/enforce/auth/basic-auth.ts'
import { deadline } from '../../support/deadline.ts'

const checking = suite('slow checks')

let checks: SlowHashChecks
checking.before.each(() => {
  checks = new SlowHashChecks()
})
checking.after.each(() => checks.close())

/** Hashes of `secret` from another implementation. */
const BCRYPT = '$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a'
const APR1 = '$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/'

async function check(password: string, hash: string, client = 'a'): Promise<boolean> {
  return deadline(checks.check(password, hash, client), 30_000, 'a slow check')
}

checking('accepts valid and rejects invalid passwords of each kind', async () => {
  for (const hash of [BCRYPT, BCRYPT.replace('2y', '2a'), BCRYPT.replace('2y', '2b'), APR1]) {
    assert.ok(await check('secret', hash), hash)
    assert.not(await check('Secret', hash), hash)
    assert.not(await check('', hash), hash)
  }
})

checking('completes concurrent checks separately, and does not block this thread', async () => {
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  const asked = ['secret', 'wrong', 'secret', 'no'].map((password, at) =>
    check(password, at === 2 ? APR1 : BCRYPT),
  )
  assert.equal(await Promise.all(asked), [true, false, true, false])
  clearInterval(ticking)
  assert.ok(turns > 0)
})

checking('reports when it is full, for one client and for all', async () => {
  const asked: Promise<boolean>[] = []
  for (let at = 0; at < MAX_PENDING_CHECKS_PER_ADDRESS; at++) {
    assert.is(checks.limitReached('a'), 0)
    asked.push(check('secret', APR1))
  }
  assert.is(checks.limitReached('a'), MAX_PENDING_CHECKS_PER_ADDRESS)
  for (let at = asked.length; at < MAX_PENDING_CHECKS; at++) {
    assert.is(checks.limitReached(`b${at}`), 0)
    asked.push(check('secret', APR1, `b${at}`))
  }
  assert.is(checks.limitReached('c'), MAX_PENDING_CHECKS)
  assert.equal(new Set(await Promise.all(asked)), new Set([true]))
  assert.is(checks.limitReached('a'), 0)
  assert.is(checks.limitReached('c'), 0)
})

checking('lets clients take turns: a client with many checks does not delay others', async () => {
  const order: string[] = []
  const ask = (client: string, password: string): Promise<unknown> =>
    check(password, APR1, client).then((isRight) => order.push(`${client} ${isRight}`))
  const asked = ['0', '1', '2', '3', '4'].map((guess) => ask('attacker', guess))
  asked.push(ask('user', 'secret'), ask('other', 'secret'))
  await Promise.all(asked)
  const guess = 'attacker false'
  assert.equal(order, [guess, guess, 'user true', 'other true', guess, guess, guess])
})

checking(
  'rejects waiting checks when it is closed, and starts again with the next check',
  async () => {
    const waiting = checks.check('secret', BCRYPT, 'a').then(
      () => 'answered',
      (error: Error) => error.message,
    )
    checks.close()
    assert.is(
      await deadline(waiting, 30_000, 'the end'),
      'the password check thread was terminated',
    )
    assert.ok(await check('secret', APR1))
  },
)

checking.run()
