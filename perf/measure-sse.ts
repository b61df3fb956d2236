// 200 event streams, one chunk each 20 ms: the cost and the delay of a relayed chunk.
import { openStream } from './client.ts'
import { nowMicros } from './fixtures.ts'
import { cpuSpent, type Column, type Measure, type Subject } from './measure.ts'
import { Latencies, percentile, type Sample } from './stats.ts'
import { StreamCrowd, type Opener } from './stream-crowd.ts'

export const STREAMS = 200
export const INTERVAL_MS = 20
const WARM_SECONDS = 0.7

export const STREAM_COLUMNS: readonly Column[] = [
  { key: 'chunks', title: 'chunks/s', digits: 0 },
  { key: 'cpu', title: 'CPU µs/chunk', digits: 1 },
  { key: 'user', title: 'of it user', digits: 1 },
  { key: 'p50', title: 'p50 µs', digits: 0 },
  { key: 'p99', title: 'p99 µs', digits: 0 },
  { key: 'addedP50', title: 'added p50 µs', digits: 0 },
]

export const sse: Measure = {
  title: `SSE, ${STREAMS} streams, one chunk each ${INTERVAL_MS} ms`,
  speaks: 'http',
  columns: STREAM_COLUMNS,
  leading: 'cpu',
  fresh: false,
  round: async (subject) =>
    streamed(subject, (_at, events) => openStream(subject.proxy.port, INTERVAL_MS, events)),
}

/** One round of a number of streams, opened by the given function. */
export async function streamed({ proxy, options }: Subject, opener: Opener): Promise<Sample> {
  const crowd = new StreamCrowd()
  try {
    await crowd.open(STREAMS, opener)
    await crowd.during(WARM_SECONDS)
    const latencies = (crowd.latencies = new Latencies())
    const before = proxy.cpu()
    const began = nowMicros()
    await crowd.during(options.seconds)
    const seconds = (nowMicros() - began) / 1e6
    const cpu = [before, proxy.cpu()]
    const sorted = latencies.sorted()
    return {
      chunks: sorted.length / seconds,
      ...cpuSpent(cpu, sorted.length, seconds),
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
    }
  } finally {
    crowd.leave()
  }
}
