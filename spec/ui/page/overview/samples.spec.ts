// Samples of traffic from two tellings, and what is read off them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Sample } from '../../../../lib/admin/page-api/page-api-types.ts'
import {
  joined,
  lately,
  latestOf,
  perSecond,
  pointsOf,
  rateOf,
  sumOf,
  WINDOW_MS,
} from '../../../../lib/ui/page/overview/samples.ts'

const samples = suite('ui/page/samples')

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

samples('are joined without those that are known already', () => {
  const all = joined([sampleAt(1_000), sampleAt(2_000)], [sampleAt(2_000), sampleAt(3_000)])
  assert.equal(times(all), [1_000, 2_000, 3_000])
})

samples('are let go when they are older than the window', () => {
  const all = joined([sampleAt(1_000), sampleAt(2_000)], [sampleAt(1_500 + WINDOW_MS)])
  assert.equal(times(all), [2_000, 1_500 + WINDOW_MS])
})

samples('are never more than fit, however fast they come', () => {
  const many = Array.from({ length: 5_000 }, (_, at) => sampleAt(1_000 + at))
  assert.ok(joined([], many).length < 400)
})

samples('leave a gap where none were heard', () => {
  const points = pointsOf([sampleAt(1_000), sampleAt(2_000), sampleAt(9_000)], () => 1)
  assert.equal(points, [
    [1_000, 1],
    [2_000, 1],
    [2_001, null],
    [9_000, 1],
  ])
})

samples('leave none where one stands for several seconds', () => {
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
  assert.equal(times(lately([sampleAt(1_000), sampleAt(5_000), sampleAt(12_000)])), [5_000, 12_000])
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
