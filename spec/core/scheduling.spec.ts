import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CoalescedTask, Mutex } from '../../lib/core/scheduling.ts'

const scheduling = suite('scheduling')

/** Work that ends on request, and records its starts. */
class Work {
  readonly started: string[] = []
  end: () => void = () => {}

  task(mutex: Mutex, name: string): CoalescedTask {
    return new CoalescedTask(mutex, () => {
      this.started.push(name)
      return new Promise((resolve) => (this.end = resolve))
    })
  }

  async ends(): Promise<void> {
    this.end()
    await nextTurn()
  }
}

scheduling('runs tasks of one mutex one after another, even if one fails', async () => {
  const [mutex, work] = [new Mutex(), new Work()]
  const [a, b] = [work.task(mutex, 'a'), work.task(mutex, 'b')]
  mutex.run(() => Promise.reject(new Error('no'))).catch(() => {})
  a.schedule()
  b.schedule()
  await nextTurn()
  assert.equal(work.started, ['a'])
  await work.ends()
  assert.equal(work.started, ['a', 'b'])
  await work.ends()
})

scheduling('runs a task once more if it is scheduled several times while it runs', async () => {
  const work = new Work()
  const task = work.task(new Mutex(), 'a')
  for (let times = 0; times < 3; times++) task.schedule()
  await nextTurn()
  assert.equal(work.started, ['a'])
  for (let times = 0; times < 3; times++) task.schedule()
  await work.ends()
  assert.equal(work.started, ['a', 'a'])
  await work.ends()
  assert.equal(work.started, ['a', 'a'])
  task.schedule()
  await nextTurn()
  assert.equal(work.started, ['a', 'a', 'a'])
})

scheduling('does not start a waiting task after it was closed', async () => {
  const [mutex, work] = [new Mutex(), new Work()]
  const [a, b] = [work.task(mutex, 'a'), work.task(mutex, 'b')]
  a.schedule()
  b.schedule()
  await nextTurn()
  b.close()
  await work.ends()
  b.schedule()
  await nextTurn()
  assert.equal(work.started, ['a'])
})

scheduling.run()
