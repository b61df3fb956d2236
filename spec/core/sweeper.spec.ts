import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Sweeper } from '../../lib/core/sweeper.ts'
import type { Sweepable } from '../../lib/core/sweeper.ts'
import { deadline } from '../support/deadline.ts'

const sweeper = suite('sweeper')

/** Counts how often it is asked, and says when it was. */
class Member implements Sweepable {
  asked = 0
  #heard: (() => void) | null = null

  sweep(): void {
    this.asked++
    this.#heard?.()
  }

  async heard(): Promise<void> {
    const asked = new Promise<void>((resolve) => (this.#heard = resolve))
    await deadline(asked, 30_000, 'a sweep')
  }
}

sweeper('asks its members until they leave', async () => {
  const swept = new Sweeper<Member>(40)
  const member = new Member()
  swept.add(member)
  await member.heard()
  swept.delete(member)
  const { asked } = member
  assert.ok(asked > 0)
  const other = new Member()
  swept.add(other)
  await other.heard()
  swept.delete(other)
  assert.is(member.asked, asked)
})

sweeper('has a clock that is never behind, also after a time without members', async () => {
  const swept = new Sweeper<Member>(4000)
  const first = new Member()
  swept.add(first)
  swept.delete(first)
  const before = performance.now() + 30
  while (performance.now() < before) await new Promise((resolve) => setImmediate(resolve))
  const second = new Member()
  const added = performance.now()
  swept.add(second)
  // A deadline set from it must not lie in the past.
  assert.ok(swept.now >= added - 1)
  swept.delete(second)
})

sweeper('tells when the last one has left', async () => {
  const swept = new Sweeper<Member>(1000)
  await deadline(swept.whenEmpty(), 30_000, 'an empty one')
  const member = new Member()
  swept.add(member)
  const empty = swept.whenEmpty()
  swept.delete(member)
  await deadline(empty, 30_000, 'the last to leave')
})

/** Was seen as a backend cut for its silence while the gateway was the one that did not read. */
sweeper('judges nobody before it has listened again when the process stood still', async () => {
  const swept = new Sweeper<Sweepable>(40)
  const heard: string[] = []
  const asked = new Promise<void>((resolve) =>
    swept.add({
      sweep() {
        heard.push('asked')
        resolve()
      },
    }),
  )
  // From here the next things the loop does are its timers, and reading only behind them.
  await new Promise<void>((resolve) => setImmediate(resolve))
  setImmediate(() => heard.push('read'))
  const until = performance.now() + 60
  while (performance.now() < until) continue
  await deadline(asked, 30_000, 'a sweep')
  assert.is(heard[0], 'read')
  for (const member of swept.members) swept.delete(member)
})

sweeper.run()
