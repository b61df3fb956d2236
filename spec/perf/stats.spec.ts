import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Latencies, median, medians, percentile, spread } from '../../perf/stats.ts'

const stats = suite('perf stats')

stats('takes the middle value whatever the order', () => {
  assert.is(median([9, 1, 5]), 5)
  assert.is(median([10, 9, 8, 100]), 9.5)
  assert.is(median([2]), 2)
})

stats('has no median of nothing', () => {
  assert.ok(Number.isNaN(median([])))
})

stats('takes percentiles by nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, at) => at + 1)
  assert.is(percentile(hundred, 0.5), 50)
  assert.is(percentile(hundred, 0.99), 99)
  assert.is(percentile(hundred, 1), 100)
  assert.is(percentile(Float64Array.of(7), 0.99), 7)
  assert.is(percentile(Float64Array.of(7), 0), 7)
  assert.ok(Number.isNaN(percentile(new Float64Array(0), 0.5)))
})

stats('merges rounds figure by figure', () => {
  const merged = medians([{ rate: 1, cpu: 10 }, { rate: 3, cpu: 30 }, { rate: 2 }])
  assert.equal(merged, { rate: 2, cpu: 20 })
  assert.equal(medians([]), {})
})

stats('tells how far rounds lie apart, relative to their median', () => {
  assert.is(spread([90, 100, 110]), 0.2)
  assert.is(spread([5]), 0)
})

stats('keeps every latency past its first capacity and sorts by number', () => {
  const latencies = new Latencies()
  const count = (1 << 16) + 10
  for (let value = count; value > 0; value--) latencies.add(value)
  const sorted = latencies.sorted()
  assert.is(latencies.count, count)
  assert.is(sorted.length, count)
  assert.is(sorted[0], 1)
  assert.is(sorted.at(-1), count)
})

stats.run()
