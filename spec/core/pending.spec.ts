import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PendingCounter } from '../../lib/core/scheduling.ts'
import { deadline } from '../support/deadline.ts'

const pending = suite('pending')

pending('tells all who wait when the last is over, and at once while there is none', async () => {
  const work = new PendingCounter()
  await deadline(work.whenIdle(), 30_000, 'nothing')
  work.begin()
  work.begin()
  const told: string[] = []
  const waits = ['one', 'other'].map((name) => work.whenIdle().then(() => told.push(name)))
  work.end()
  await deadline(Promise.resolve(), 30_000, 'a turn')
  assert.equal(told, [])
  work.end()
  await deadline(Promise.all(waits), 30_000, 'the last')
  assert.equal(told, ['one', 'other'])
})

pending.run()
