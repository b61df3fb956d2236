// Quantiles of the latencies since the previous call, within the width of a bucket.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LatencyHistogram, LatencyWindow } from '../../lib/core/traffic-totals.ts'

const times = suite('latency histogram')

function windowOf(...all: number[]): LatencyWindow {
  const histogram = new LatencyHistogram()
  const window = new LatencyWindow(histogram)
  for (const ms of all) histogram.add(ms)
  window.advance()
  return window
}

function isNear(got: number | null, wanted: number): void {
  assert.ok(got !== null && Math.abs(got - wanted) <= wanted * 0.125, `${got} for ${wanted}`)
}

times('is within an eighth of the value from 50 µs to 5 minutes', () => {
  for (let ms = 0.05; ms < 300_000; ms *= 1.03) isNear(windowOf(ms, ms, ms).quantile(0.5), ms)
})

times('returns quantiles of many values', () => {
  const window = windowOf(...Array.from({ length: 1000 }, (_, at) => at + 1))
  isNear(window.quantile(0.5), 500)
  isNear(window.quantile(0.99), 990)
  isNear(window.quantile(1), 1000)
})

times('returns null without new values, and does not count earlier ones', () => {
  const histogram = new LatencyHistogram()
  histogram.add(5)
  const window = new LatencyWindow(histogram)
  window.advance()
  assert.is(window.quantile(0.5), null)
  histogram.add(80)
  window.advance()
  isNear(window.quantile(0.5), 80)
  window.advance()
  assert.is(window.quantile(0.5), null)
})

times('accepts any number', () => {
  assert.ok(windowOf(0).quantile(0.5)! < 0.05)
  assert.ok(windowOf(-1).quantile(0.5)! < 0.05)
  assert.ok(windowOf(NaN).quantile(0.5)! < 0.05)
  isNear(windowOf(1e12).quantile(0.5), 300_000)
  isNear(windowOf(Infinity).quantile(0.5), 300_000)
})

times.run()
