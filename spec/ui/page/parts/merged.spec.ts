// Lines of the log that were asked for and lines that were heard, as one list.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LogLine } from '../../../../lib/admin/page-api/page-api-types.ts'
import { merged, missingIn } from '../../../../lib/ui/page/parts/merged.ts'

const merging = suite('ui/page/merged')

function lines(at: number, ...numbers: readonly number[]): LogLine[] {
  return numbers.map((number) => ({
    number,
    at: at + number,
    level: 'info',
    module: 'gateway',
    message: `${at}`,
    fields: [],
  }))
}

function numbers(all: readonly LogLine[]): number[] {
  return all.map(({ number }) => number)
}

merging('shows each line once, in order, wherever it came from', () => {
  assert.equal(numbers(merged(lines(0, 1, 2, 3), lines(0, 3, 4), 10)), [1, 2, 3, 4])
  assert.equal(numbers(merged(lines(0, 5, 6, 7), lines(0, 2, 6), 10)), [2, 5, 6, 7])
  assert.equal(numbers(merged(lines(0, 1), lines(0, 4), 10)), [1, 4])
})

merging('takes what there is when the other is empty', () => {
  assert.equal(numbers(merged([], lines(0, 1, 2), 10)), [1, 2])
  assert.equal(numbers(merged(lines(0, 1, 2), [], 10)), [1, 2])
  assert.equal(merged([], [], 10), [])
})

merging('keeps the newest when there are too many', () => {
  assert.equal(numbers(merged(lines(0, 1, 2, 3), lines(0, 4, 5), 2)), [4, 5])
  assert.equal(numbers(merged([], lines(0, 1, 2, 3), 2)), [2, 3])
})

merging('forgets a gateway that has gone when another counts anew', () => {
  assert.equal(numbers(merged(lines(0, 90, 91), lines(1_000, 1, 2), 10)), [1, 2])
  assert.equal(numbers(merged(lines(1_000, 1, 2), lines(0, 90, 91), 10)), [1, 2])
})

merging('counts the lines that nobody sent', () => {
  assert.is(missingIn([]), 0)
  assert.is(missingIn(lines(0, 4, 5, 6)), 0)
  assert.is(missingIn(lines(0, 4, 7, 9)), 3)
})

merging.run()
