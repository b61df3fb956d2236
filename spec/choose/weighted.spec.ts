import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WeightedPicker } from '../../lib/choose/route-table.ts'

const weighted = suite('weighted choice')

function picks(weights: number[], randoms: number[]): (number | undefined)[] {
  let at = 0
  const entries = weights.map((weight, value) => ({ value, weight }))
  const choice = new WeightedPicker(entries, () => randoms[at++]!)
  return randoms.map(() => choice.pick())
}

weighted('chooses each entry in proportion to its weight', () => {
  assert.equal(picks([1, 3], [0, 0.2499, 0.25, 0.9999]), [0, 0, 1, 1])
  assert.equal(picks([2, 1, 1], [0, 0.49, 0.5, 0.74, 0.75, 0.99]), [0, 0, 1, 1, 2, 2])
})

weighted('never chooses an entry of weight zero', () => {
  assert.equal(picks([0, 1, 0, 1, 0], [0, 0.49, 0.5, 0.9999]), [1, 1, 3, 3])
})

weighted('finds nothing when no entry has any weight', () => {
  assert.is(new WeightedPicker([]).pick(), undefined)
  assert.is(new WeightedPicker([{ value: 'a', weight: 0 }]).pick(), undefined)
})

weighted('asks for no random number when there is only one choice', () => {
  const never = () => {
    throw new Error('asked')
  }
  const entries = [
    { value: 'a', weight: 0 },
    { value: 'b', weight: 5 },
  ]
  assert.is(new WeightedPicker(entries, never).pick(), 'b')
})

weighted('distributes choices with real random numbers', () => {
  const choice = new WeightedPicker([
    { value: 'a', weight: 9 },
    { value: 'b', weight: 1 },
  ])
  let count = 0
  for (let i = 0; i < 10_000; i++) if (choice.pick() === 'b') count++
  assert.ok(count > 700 && count < 1300, String(count))
})

weighted.run()
