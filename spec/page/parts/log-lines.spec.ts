// Merges loaded and live log lines into one list.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LogLine } from '../../../lib/admin/page-api/page-api-types.ts'
import { mergeLines, missingCount } from '../../../lib/page/parts/log-lines.ts'

const merging = suite('page/log-lines')

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

merging('shows each line once, in order', () => {
  assert.equal(numbers(mergeLines(lines(0, 1, 2, 3), lines(0, 3, 4), 10)), [1, 2, 3, 4])
  assert.equal(numbers(mergeLines(lines(0, 5, 6, 7), lines(0, 2, 6), 10)), [2, 5, 6, 7])
  assert.equal(numbers(mergeLines(lines(0, 1), lines(0, 4), 10)), [1, 4])
})

merging('takes one list when the other is empty', () => {
  assert.equal(numbers(mergeLines([], lines(0, 1, 2), 10)), [1, 2])
  assert.equal(numbers(mergeLines(lines(0, 1, 2), [], 10)), [1, 2])
  assert.equal(mergeLines([], [], 10), [])
})

merging('keeps the newest when there are too many', () => {
  assert.equal(numbers(mergeLines(lines(0, 1, 2, 3), lines(0, 4, 5), 2)), [4, 5])
  assert.equal(numbers(mergeLines([], lines(0, 1, 2, 3), 2)), [2, 3])
})

merging('drops the lines before a restart of the gateway', () => {
  assert.equal(numbers(mergeLines(lines(0, 90, 91), lines(1_000, 1, 2), 10)), [1, 2])
  assert.equal(numbers(mergeLines(lines(1_000, 1, 2), lines(0, 90, 91), 10)), [1, 2])
})

merging('counts the missing lines', () => {
  assert.is(missingCount([]), 0)
  assert.is(missingCount(lines(0, 4, 5, 6)), 0)
  assert.is(missingCount(lines(0, 4, 7, 9)), 3)
})

merging.run()
