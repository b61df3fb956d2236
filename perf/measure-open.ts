// Many event streams opened in the same moment, each on a connection of its own: how long until each has its first byte.
import type { Socket } from 'node:net'
import { openStream } from './client.ts'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { cpuSpent, type Measure, type Subject } from './measure.ts'
import { Latencies, percentile, type Sample } from './stats.ts'

const STREAMS = 200
/** Long enough that no second chunk comes. */
const INTERVAL_MS = 60_000
const BURST_DEADLINE_MS = 20_000
const LEAST_BURSTS = 3

export const open: Measure = {
  title: `${STREAMS} SSE streams opened at once, each on a new connection: time to the first byte`,
  speaks: 'http',
  columns: [
    { key: 'p50', title: 'p50 µs', digits: 0 },
    { key: 'p99', title: 'p99 µs', digits: 0 },
    { key: 'cpu', title: 'CPU µs/stream', digits: 0 },
    { key: 'addedP50', title: 'added p50 µs', digits: 0 },
    { key: 'addedP99', title: 'added p99 µs', digits: 0 },
  ],
  leading: 'p99',
  fresh: false,
  round: async (subject) => opened(subject),
}

async function opened({ proxy, options }: Subject): Promise<Sample> {
  const latencies = new Latencies()
  const before = proxy.cpu()
  const ends = nowMicros() + options.seconds * 1e6
  for (let burst = 0; burst < LEAST_BURSTS || nowMicros() < ends; burst++)
    await crowd(proxy.port, latencies)
  const cpu = [before, proxy.cpu()]
  const sorted = latencies.sorted()
  return {
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    ...cpuSpent(cpu, sorted.length, options.seconds),
  }
}

async function crowd(port: number, latencies: Latencies): Promise<void> {
  const over = new Deferred()
  let left = STREAMS
  const timer = setTimeout(
    () => over.reject(new Error('a stream did not start')),
    BURST_DEADLINE_MS,
  )
  const began = nowMicros()
  const streams = Array.from({ length: STREAMS }, () => {
    let isFirst = true
    const stamp = (): void => {
      if (!isFirst) return
      isFirst = false
      latencies.add(nowMicros() - began)
      if (--left === 0) over.resolve()
    }
    return openStream(port, INTERVAL_MS, { stamp, failed: over.reject })
  })
  try {
    await over.guard(Promise.all(streams))
    await over.promise
  } finally {
    clearTimeout(timer)
    const sockets = await Promise.allSettled(streams)
    for (const one of sockets) if (one.status === 'fulfilled') leave(one.value)
  }
}

/** A reset leaves no TIME_WAIT behind. That it may be told of as a failure is of no interest any more. */
function leave(socket: Socket): void {
  socket.resetAndDestroy()
}
