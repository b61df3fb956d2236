// How many idle streams are measured, by what the system gives a process.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FileDescriptors } from '../../lib/core/descriptors.ts'
import { manyStreams } from '../../perf/many-streams.ts'

const many = suite('perf/many-streams')

many('as many as are asked for, where that is not too many', () => {
  assert.is(manyStreams(Infinity), 10_000)
  assert.is(manyStreams(65_536), 10_000)
  assert.is(manyStreams(20_000), 9_400)
  assert.is(manyStreams(1_024), 300)
})

many('the gateway refuses none of them because descriptors run out', () => {
  for (const limit of [1_024, 4_096, 20_000, 65_536]) {
    const last = manyStreams(limit) * 2 + 100
    assert.not(new FileDescriptors(limit).leavesTooFew(last), String(limit))
  }
})

many.run()
