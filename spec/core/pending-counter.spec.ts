import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PendingCounter } from '../../lib/core/scheduling.ts'
import { deadline } from '../support/deadline.ts'

const pending = suite('pending counter')

pending('resolves all waits when the last work ends, and at once if there is none', async () => {
  const work = new PendingCounter()
  await deadline(work.whenIdle(), 30_000, 'nothing')
  work.begin()
  work.begin()
  const resolved: string[] = []
  const waits = ['one', 'other'].map((name) => work.whenIdle().then(() => resolved.push(name)))
  work.end()
  await deadline(Promise.resolve(), 30_000, 'a turn')
  assert.equal(resolved, [])
  work.end()
  await deadline(Promise.all(waits), 30_000, 'the last')
  assert.equal(resolved, ['one', 'other'])
})

pending.run()
