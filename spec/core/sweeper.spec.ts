// Sweeps of deadlines, and the coarse clock that comes with them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Sweeper } from '../../lib/core/sweeper.ts'
import type { Sweepable } from '../../lib/core/sweeper.ts'
import { deadline } from '../support/deadline.ts'

const sweeper = suite('sweeper')

/** Counts its sweeps. */
class Member implements Sweepable {
  sweeps = 0
  #onSweep: (() => void) | null = null

  sweep(): void {
    this.sweeps++
    this.#onSweep?.()
  }

  async nextSweep(): Promise<void> {
    const swept = new Promise<void>((resolve) => (this.#onSweep = resolve))
    await deadline(swept, 30_000, 'a sweep')
  }
}

sweeper('sweeps its members until they are removed', async () => {
  const swept = new Sweeper<Member>(40)
  const member = new Member()
  swept.add(member)
  await member.nextSweep()
  swept.delete(member)
  const { sweeps } = member
  assert.ok(sweeps > 0)
  const other = new Member()
  swept.add(other)
  await other.nextSweep()
  swept.delete(other)
  assert.is(member.sweeps, sweeps)
})

sweeper('has a clock that is never late, also after a time without members', async () => {
  const swept = new Sweeper<Member>(4000)
  const first = new Member()
  swept.add(first)
  swept.delete(first)
  const before = performance.now() + 30
  while (performance.now() < before) await new Promise((resolve) => setImmediate(resolve))
  const second = new Member()
  const added = performance.now()
  swept.add(second)
  // A deadline set from it must not be in the past.
  assert.ok(swept.now >= added - 1)
  swept.delete(second)
})

sweeper('resolves whenEmpty when the last member is removed', async () => {
  const swept = new Sweeper<Member>(1000)
  await deadline(swept.whenEmpty(), 30_000, 'an empty one')
  const member = new Member()
  swept.add(member)
  const empty = swept.whenEmpty()
  swept.delete(member)
  await deadline(empty, 30_000, 'the last member')
})

/** Regression: a backend was cut for its silence while the gateway itself did not read. */
sweeper('does not sweep after a blocked time before it has read again', async () => {
  const swept = new Sweeper<Sweepable>(40)
  const steps: string[] = []
  const firstSweep = new Promise<void>((resolve) =>
    swept.add({
      sweep() {
        steps.push('swept')
        resolve()
      },
    }),
  )
  // From here the loop runs its timers next, and reads only after them.
  await new Promise<void>((resolve) => setImmediate(resolve))
  setImmediate(() => steps.push('read'))
  const blockedUntil = performance.now() + 60
  while (performance.now() < blockedUntil) continue
  await deadline(firstSweep, 30_000, 'a sweep')
  assert.is(steps[0], 'read')
  for (const member of swept.members) swept.delete(member)
})

sweeper.run()
