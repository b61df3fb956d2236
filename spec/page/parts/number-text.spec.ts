// Numbers, times and spans as people read them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  clockText,
  countText,
  dateText,
  durationText,
  latencyText,
  shareText,
  spanText,
} from '../../../lib/page/parts/number-text.ts'

const words = suite('page/number-text')

words('say counts short, and small ones exactly', () => {
  const cases = [
    [0, '0'],
    [0.44, '0.4'],
    [9, '9'],
    [12.6, '13'],
    [999, '999'],
    [1_204, '1,204'],
    [9_999, '9,999'],
    [12_345, '12.3k'],
    [120_331, '120k'],
    [999_960, '1M'],
    [4_120_000, '4.1M'],
  ] as const
  for (const [value, text] of cases) assert.is(countText(value), text)
})

words('say how long something takes', () => {
  assert.is(latencyText(0.44), '0.4 ms')
  assert.is(latencyText(12.4), '12 ms')
  assert.is(latencyText(1_320), '1.32 s')
  assert.is(latencyText(92_110), '92 s')
  assert.is(durationText('91101ms'), '1 min 31 s')
  assert.is(durationText('7ms'), '7 ms')
  assert.is(durationText('soon'), 'soon')
})

words('a small share does not look like zero', () => {
  assert.is(shareText(0), '0 %')
  assert.is(shareText(0.0001), '< 0.1 %')
  assert.is(shareText(0.004), '0.4 %')
  assert.is(shareText(0.31), '31 %')
})

words('say spans in two units at most', () => {
  const cases = [
    [-5, '0 s'],
    [4_900, '4 s'],
    [720_000, '12 min'],
    [12_000_000, '3 h 20 min'],
    [7_200_000, '2 h'],
    [439_200_000, '5 d 2 h'],
  ] as const
  for (const [ms, text] of cases) assert.is(spanText(ms), text)
})

words('say points in time as the clock on the wall does', () => {
  const at = new Date(2026, 10, 5, 4, 3, 9).getTime()
  assert.is(clockText(at), '04:03:09')
  assert.is(dateText(at), '2026-11-05 04:03:09')
})

words.run()
