import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CoalescedTask, Mutex } from '../../lib/core/scheduling.ts'

const turns = suite('base/turn')

/** Work that ends when it is told to, and notes that it began. */
class Work {
  readonly begun: string[] = []
  end: () => void = () => {}

  errand(turn: Mutex, name: string): CoalescedTask {
    return new CoalescedTask(turn, () => {
      this.begun.push(name)
      return new Promise((resolve) => (this.end = resolve))
    })
  }

  async ends(): Promise<void> {
    this.end()
    await nextTurn()
  }
}

turns('those who share one wait for each other, whatever becomes of it', async () => {
  const [turn, work] = [new Mutex(), new Work()]
  const [a, b] = [work.errand(turn, 'a'), work.errand(turn, 'b')]
  turn.run(() => Promise.reject(new Error('no'))).catch(() => {})
  a.schedule()
  b.schedule()
  await nextTurn()
  assert.equal(work.begun, ['a'])
  await work.ends()
  assert.equal(work.begun, ['a', 'b'])
  await work.ends()
})

turns('however often an errand is wanted while it is done, it is done once more', async () => {
  const work = new Work()
  const errand = work.errand(new Mutex(), 'a')
  for (let times = 0; times < 3; times++) errand.schedule()
  await nextTurn()
  assert.equal(work.begun, ['a'])
  for (let times = 0; times < 3; times++) errand.schedule()
  await work.ends()
  assert.equal(work.begun, ['a', 'a'])
  await work.ends()
  assert.equal(work.begun, ['a', 'a'])
  errand.schedule()
  await nextTurn()
  assert.equal(work.begun, ['a', 'a', 'a'])
})

turns('an errand that waits for its turn does not begin when it is over', async () => {
  const [turn, work] = [new Mutex(), new Work()]
  const [a, b] = [work.errand(turn, 'a'), work.errand(turn, 'b')]
  a.schedule()
  b.schedule()
  await nextTurn()
  b.close()
  await work.ends()
  b.schedule()
  await nextTurn()
  assert.equal(work.begun, ['a'])
})

turns.run()
