// Sweeps of deadlines, and the coarse clock that comes with them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Sweeper } from '../../lib/core/sweeper.ts'
import type { Sweepable } from '../../lib/core/sweeper.ts'
import { deadline } from '../support/deadline.ts'

const sweeper = suite('sweeper')

/** Counts its sweeps. */
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

sweeper('sweeps its members until they are deleted', async () => {
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
  // A deadline set from it must not lie in the past.
  assert.ok(swept.now >= added - 1)
  swept.delete(second)
})

sweeper('resolves when the last member is deleted', async () => {
  const swept = new Sweeper<Member>(1000)
  await deadline(swept.whenEmpty(), 30_000, 'an empty one')
  const member = new Member()
  swept.add(member)
  const empty = swept.whenEmpty()
  swept.delete(member)
  await deadline(empty, 30_000, 'the last member')
})

/** A backend was once cut for silence while the gateway itself did not read. */
sweeper('sweeps only after the sockets were read when the process was stalled', async () => {
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
  // From here the event loop runs its timers first, and reads after them.
  await new Promise<void>((resolve) => setImmediate(resolve))
  setImmediate(() => heard.push('read'))
  const until = performance.now() + 60
  while (performance.now() < until) continue
  await deadline(asked, 30_000, 'a sweep')
  assert.is(heard[0], 'read')
  for (const member of swept.members) swept.delete(member)
})

sweeper.run()
