// Merges samples of the first response with live ones, and computes rates.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Sample } from '../../../lib/admin/page-api/page-api-types.ts'
import {
  WINDOW_MS,
  latestOf,
  mergeSamples,
  perSecond,
  pointsOf,
  rateOf,
  recentSamples,
  sumOf,
} from '../../../lib/page/overview/traffic-tiles.ts'

const samples = suite('page/traffic-tiles')

function sampleAt(at: number, over: Partial<Sample> = {}): Sample {
  return {
    at,
    span: 1_000,
    requests: 0,
    errors: 0,
    refused: 0,
    p50: null,
    p99: null,
    firstToken: null,
    tokensIn: 0,
    tokensOut: 0,
    bytesIn: 0,
    bytesOut: 0,
    openRequests: 0,
    openStreams: 0,
    connections: 0,
    rss: 0,
    cpu: 0,
    ...over,
  }
}

const times = (all: readonly Sample[]): number[] => all.map(({ at }) => at)

samples('are mergeSamples without those that are known already', () => {
  const all = mergeSamples([sampleAt(1_000), sampleAt(2_000)], [sampleAt(2_000), sampleAt(3_000)])
  assert.equal(times(all), [1_000, 2_000, 3_000])
})

samples('are dropped when they are older than the window', () => {
  const all = mergeSamples([sampleAt(1_000), sampleAt(2_000)], [sampleAt(1_500 + WINDOW_MS)])
  assert.equal(times(all), [2_000, 1_500 + WINDOW_MS])
})

samples('are bounded, however fast they arrive', () => {
  const many = Array.from({ length: 5_000 }, (_, at) => sampleAt(1_000 + at))
  assert.ok(mergeSamples([], many).length < 400)
})

samples('leave a gap where samples are missing', () => {
  const points = pointsOf([sampleAt(1_000), sampleAt(2_000), sampleAt(9_000)], () => 1)
  assert.equal(points, [
    [1_000, 1],
    [2_000, 1],
    [2_001, null],
    [9_000, 1],
  ])
})

samples('leave no gap where one sample covers several seconds', () => {
  const points = pointsOf([sampleAt(1_000), sampleAt(6_000, { span: 5_000 })], () => 1)
  assert.equal(points, [
    [1_000, 1],
    [6_000, 1],
  ])
})

samples('count by the time they took in truth', () => {
  assert.is(perSecond(sampleAt(0, { span: 2_000 }), 10), 5)
  assert.is(perSecond(sampleAt(0, { span: 0 }), 10), 0)
  const all = [sampleAt(1_000, { requests: 3 }), sampleAt(4_000, { requests: 9, span: 3_000 })]
  assert.is(
    rateOf(all, ({ requests }) => requests),
    3,
  )
  assert.is(
    sumOf(all, ({ requests }) => requests),
    12,
  )
  assert.is(
    rateOf([], ({ requests }) => requests),
    0,
  )
})

samples('are recent as seen from the last', () => {
  assert.equal(
    times(recentSamples([sampleAt(1_000), sampleAt(5_000), sampleAt(12_000)])),
    [5_000, 12_000],
  )
})

samples('show the latest value that there is', () => {
  const all = [sampleAt(1_000, { p50: 4 }), sampleAt(2_000, { p50: 5 }), sampleAt(3_000)]
  assert.is(
    latestOf(all, ({ p50 }) => p50),
    5,
  )
  assert.is(
    latestOf(all, ({ p99 }) => p99),
    null,
  )
})

samples.run()
