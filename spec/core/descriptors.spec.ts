import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FileDescriptors, isOutOfDescriptors } from '../../lib/core/descriptors.ts'

const descriptors = suite('descriptors')

descriptors('keeps a reserve: 64, a twentieth of a large limit, a quarter of a small one', () => {
  const shedAt = (limit: number): number => {
    const tested = new FileDescriptors(limit)
    for (let at = 0; at <= limit; at++) if (tested.leavesTooFew(at)) return at
    return -1
  }
  assert.equal([128, 1024, 100_000].map(shedAt), [96, 960, 95_000])
})

descriptors('reads the limit from the system, if it reports one', () => {
  const { limit } = new FileDescriptors()
  assert.ok(limit > 0)
  assert.not(new FileDescriptors().leavesTooFew(-1))
  assert.not(new FileDescriptors(Infinity).leavesTooFew(1_000_000))
})

descriptors('recognises the errors that mean that no descriptor is left', () => {
  const error = (code: string): Error => Object.assign(new Error(code), { code })
  assert.equal(
    ['EMFILE', 'ENFILE', 'ECONNRESET'].map((code) => isOutOfDescriptors(error(code))),
    [true, true, false],
  )
})

descriptors.run()
