import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../../lib/core/refusal-counter.ts'
import {
  createDecoyHash,
  MAX_REMEMBERED_PASSWORDS,
  PasswordChecker,
  PASSWORD_MEMORY_MS,
} from '../../../lib/enforce/auth/basic-auth.ts'
import { detectHashKind } from '../../../lib/config/htpasswd.ts'
import { deadline } from '../../support/deadline.ts'

const passwords = suite('passwords')

const LETTERS = 'a'.repeat(53)
const BCRYPT = `$2y$05$${LETTERS}`
const SHA = '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ='

const ADDRESS = '192.0.2.1'

/** Slow checks that the spec completes; `secret` is the valid password. */
class Slow {
  reached = 0
  asked: string[] = []
  #answers: (() => void)[] = []

  limitReached(): number {
    return this.reached
  }

  async check(password: string, hash: string): Promise<boolean> {
    this.asked.push(`${password} ${hash}`)
    await new Promise<void>((resolve) => this.#answers.push(resolve))
    return password.startsWith('secret')
  }

  /** Completes all checks so far. */
  answer(): void {
    for (const answer of this.#answers.splice(0)) answer()
  }

  close(): void {}
}

async function soon<T>(wait: T | Promise<T>): Promise<T> {
  assert.instance(wait, Promise)
  return deadline(Promise.resolve(wait), 30_000, 'a check')
}

passwords('are checked synchronously against fast hashes', () => {
  const slow = new Slow()
  const checked = new PasswordChecker(new RefusalCounter(), slow)
  assert.is(checked.check('secret', SHA, ADDRESS), 'right')
  assert.is(checked.check('Secret', SHA, ADDRESS), 'wrong')
  assert.is(checked.check('', SHA, ADDRESS), 'wrong')
  assert.is(checked.check('plain', 'plain', ADDRESS), 'right')
  assert.is(checked.check('{PLAIN}plain', '{PLAIN}plain', ADDRESS), 'wrong')
  assert.is(checked.check('plain', '{PLAIN}plain', ADDRESS), 'right')
  assert.is(checked.check('pläin', 'plain', ADDRESS), 'wrong')
  assert.equal(slow.asked, [])
})

passwords('that were valid are not checked again for a while', async () => {
  const slow = new Slow()
  const clock = { time: 0, now: () => clock.time }
  const checked = new PasswordChecker(new RefusalCounter(), slow, clock)
  const first = checked.check('secret', BCRYPT, ADDRESS)
  slow.answer()
  assert.is(await soon(first), 'right')
  clock.time = PASSWORD_MEMORY_MS - 1
  assert.is(checked.check('secret', BCRYPT, ADDRESS), 'right')
  assert.equal(slow.asked, [`secret ${BCRYPT}`])
  clock.time = PASSWORD_MEMORY_MS
  const again = checked.check('secret', BCRYPT, ADDRESS)
  slow.answer()
  assert.is(await soon(again), 'right')
  assert.is(slow.asked.length, 2)
})

passwords('that were invalid are checked every time', async () => {
  const slow = new Slow()
  const checked = new PasswordChecker(new RefusalCounter(), slow)
  for (const count of [1, 2]) {
    const check = checked.check('wrong', BCRYPT, ADDRESS)
    slow.answer()
    assert.is(await soon(check), 'wrong')
    assert.is(slow.asked.length, count)
  }
})

passwords('are cached with their hash: another hash is checked again', async () => {
  const slow = new Slow()
  const checked = new PasswordChecker(new RefusalCounter(), slow)
  const first = checked.check('secret', BCRYPT, ADDRESS)
  slow.answer()
  await soon(first)
  const other = checked.check('secret', `$2y$06$${LETTERS}`, ADDRESS)
  slow.answer()
  await soon(other)
  assert.is(slow.asked.length, 2)
})

passwords('of concurrent requests are checked once', async () => {
  const slow = new Slow()
  const checked = new PasswordChecker(new RefusalCounter(), slow)
  const crowd = [1, 2, 3].map(() => checked.check('secret', BCRYPT, ADDRESS))
  assert.is(slow.asked.length, 1)
  slow.answer()
  for (const one of crowd) assert.is(await soon(one), 'right')
})

passwords('are not checked while too many wait, unless they are cached', async () => {
  const slow = new Slow()
  const refusals = new RefusalCounter()
  const checked = new PasswordChecker(refusals, slow)
  const first = checked.check('secret', BCRYPT, ADDRESS)
  slow.answer()
  await soon(first)
  slow.reached = 8
  assert.is(checked.check('secret', BCRYPT, ADDRESS), 'right')
  assert.is(checked.check('secret2', BCRYPT, ADDRESS), 'busy')
  assert.is(refusals.counts.get('passwordChecks'), 1)
  assert.is(checked.check('plain', 'plain', ADDRESS), 'right')
  slow.reached = 0
  const second = checked.check('secret2', BCRYPT, ADDRESS)
  slow.answer()
  assert.is(await soon(second), 'right')
})

passwords('are cached up to a bound, and the least recently used is evicted', async () => {
  const slow = new Slow()
  const checked = new PasswordChecker(new RefusalCounter(), slow)
  const learn = async (from: number, to: number): Promise<void> => {
    const checks: unknown[] = []
    for (let at = from; at < to; at++) checks.push(checked.check(`secret${at}`, BCRYPT, ADDRESS))
    slow.answer()
    await deadline(Promise.all(checks), 30_000, 'the checks')
  }
  await learn(0, MAX_REMEMBERED_PASSWORDS)
  assert.is(checked.check('secret0', BCRYPT, ADDRESS), 'right')
  await learn(MAX_REMEMBERED_PASSWORDS, MAX_REMEMBERED_PASSWORDS + 1)
  slow.asked = []
  assert.is(checked.check('secret0', BCRYPT, ADDRESS), 'right')
  assert.is(checked.check(`secret${MAX_REMEMBERED_PASSWORDS}`, BCRYPT, ADDRESS), 'right')
  const forgotten = checked.check('secret1', BCRYPT, ADDRESS)
  slow.answer()
  assert.is(await soon(forgotten), 'right')
  assert.is(slow.asked.length, 1)
})

passwords('of unknown users cost as much as the slowest hash of the file', () => {
  const apr1 = '$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/'
  assert.match(createDecoyHash([SHA, BCRYPT, `$2a$12$${LETTERS}`, apr1]), /^\$2b\$12\$/)
  assert.match(createDecoyHash([SHA, BCRYPT]), /^\$2b\$05\$/)
  for (const [hashes, kind] of [
    [[BCRYPT], 'bcrypt'],
    [[apr1, 'plain'], 'apr1'],
    [['plain', SHA], 'sha'],
    [[], 'sha'],
  ] as const)
    assert.is(detectHashKind(createDecoyHash(hashes)), kind)
})

passwords.run()
