// Medians and the like of what came since the last look, as near to the truth as a bucket is wide.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LatencyHistogram, LatencyWindow } from '../../lib/core/traffic-totals.ts'

const times = suite('fine histogram')

function latest(...all: number[]): LatencyWindow {
  const histogram = new LatencyHistogram()
  const looking = new LatencyWindow(histogram)
  for (const ms of all) histogram.add(ms)
  looking.advance()
  return looking
}

function isNear(got: number | null, wanted: number): void {
  assert.ok(got !== null && Math.abs(got - wanted) <= wanted * 0.125, `${got} for ${wanted}`)
}

times('is within an eighth of the truth from 50 µs to 5 minutes', () => {
  for (let ms = 0.05; ms < 300_000; ms *= 1.03) isNear(latest(ms, ms, ms).quantile(0.5), ms)
})

times('reads quantiles of many', () => {
  const looking = latest(...Array.from({ length: 1000 }, (_, at) => at + 1))
  isNear(looking.quantile(0.5), 500)
  isNear(looking.quantile(0.99), 990)
  isNear(looking.quantile(1), 1000)
})

times('knows nothing where nothing came, and forgets what came before', () => {
  const histogram = new LatencyHistogram()
  histogram.add(5)
  const looking = new LatencyWindow(histogram)
  looking.advance()
  assert.is(looking.quantile(0.5), null)
  histogram.add(80)
  looking.advance()
  isNear(looking.quantile(0.5), 80)
  looking.advance()
  assert.is(looking.quantile(0.5), null)
})

times('takes whatever it is given', () => {
  assert.ok(latest(0).quantile(0.5)! < 0.05)
  assert.ok(latest(-1).quantile(0.5)! < 0.05)
  assert.ok(latest(NaN).quantile(0.5)! < 0.05)
  isNear(latest(1e12).quantile(0.5), 300_000)
  isNear(latest(Infinity).quantile(0.5), 300_000)
})

times.run()
