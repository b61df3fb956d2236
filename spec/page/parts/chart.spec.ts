// Where the points of a chart lie.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { areaOf, ceilingOf, lineOf, nearest, xOf, yOf } from '../../../lib/page/parts/chart.ts'

const scale = suite('page/chart')

const BOX = { width: 100, height: 50, from: 0, to: 10, top: 5 }

scale('ends at a round number that nothing exceeds', () => {
  const cases = [
    [[1], 1],
    [[1.1], 2],
    [[3], 5],
    [[7], 10],
    [[10], 10],
    [[11], 20],
    [[480, 3], 500],
    [[501], 1_000],
    [[0.3], 1],
  ] as const
  for (const [values, top] of cases) assert.is(ceilingOf(values), top)
})

scale('has a minimum for small, null or invalid values', () => {
  assert.is(ceilingOf([], 5), 5)
  assert.is(ceilingOf([null, 2], 5), 5)
  assert.is(ceilingOf([Infinity], 5), 5)
  assert.is(ceilingOf([Number.NaN], 5), 5)
  assert.is(ceilingOf([0.03], 0.01), 0.05)
})

scale('is round in the unit that people count in', () => {
  assert.is(ceilingOf([130 * 1024], 1, 1024), 200 * 1024)
  assert.is(ceilingOf([3], 1, 1024), 0.005 * 1024)
})

scale('puts the earliest left and the most at the top', () => {
  assert.is(xOf(0, BOX), 0)
  assert.is(xOf(10, BOX), 100)
  assert.is(yOf(0, BOX), 50)
  assert.is(yOf(5, BOX), 0)
  assert.is(yOf(9, BOX), 0)
  assert.is(xOf(3, { ...BOX, from: 3, to: 3 }), 100)
})

scale('breaks the line at a gap', () => {
  const points = [
    [0, 0],
    [2, 5],
    [4, null],
    [6, 5],
    [10, 0],
  ] as const
  assert.is(lineOf(points, BOX), 'M0 50L20 0M60 0L100 50')
  assert.is(areaOf(points, BOX), 'M0 50L0 50L20 0L20 50ZM60 50L60 0L100 50L100 50Z')
})

scale('shows a single point', () => {
  assert.is(lineOf([[5, 5]], BOX), 'M50 0h0.01')
  assert.is(areaOf([[5, 5]], BOX), '')
})

scale('leaves out points outside of the time axis', () => {
  const points = [
    [-1, 5],
    [0, 5],
    [10, 5],
    [11, 5],
  ] as const
  assert.is(lineOf(points, BOX), 'M0 0L100 0')
  assert.is(lineOf([], BOX), '')
})

scale('finds the nearest time', () => {
  const times = [10, 20, 30]
  const cases = [
    [0, 0],
    [14, 0],
    [15, 0],
    [16, 1],
    [29, 2],
    [99, 2],
  ] as const
  for (const [at, found] of cases) assert.is(nearest(times, at), found)
  assert.is(nearest([], 5), -1)
})

scale.run()
