// Many event streams opened at the same moment, each on a new connection: how long until each has its first byte.
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import { cpuSpent, type Measure, type Subject } from './measure.ts'
import type { Cpu } from './process.ts'
import { dial } from './socket.ts'
import { Latencies, percentile, type Sample } from './stats.ts'

const STREAMS = 200
/** One event, and the stream stays open. */
const REQUEST =
  'GET /sse?interval=0 HTTP/1.1\r\nhost: bench.test\r\naccept: text/event-stream\r\n\r\n'
const BURST_DEADLINE_MS = 20_000
const LEAST_BURSTS = 3
/** Streams without the proxy, so that only the proxy is new. */
const REHEARSED_BURSTS = 10
/** Time for load, proxy and backend to close the last burst before the next one is measured. */
const SETTLE_MS = 150

const TITLE = `${STREAMS} SSE streams opened at once, each on a new connection: time to the first byte`
const COLUMNS = [
  { key: 'p50', title: 'p50 µs', digits: 0 },
  { key: 'p99', title: 'p99 µs', digits: 0 },
  { key: 'cpu', title: 'CPU µs/stream', digits: 0 },
]

export const open: Measure = {
  title: TITLE,
  speaks: 'http',
  columns: [
    ...COLUMNS,
    { key: 'addedP50', title: 'added p50 µs', digits: 0 },
    { key: 'addedP99', title: 'added p99 µs', digits: 0 },
  ],
  leading: 'p99',
  fresh: false,
  round: async (subject) => opened(subject),
}

/** What clients see after a deployment. */
export const openFirst: Measure = {
  title: `${TITLE}, as the first a new process gets to do`,
  speaks: 'http',
  columns: COLUMNS,
  leading: 'p99',
  fresh: true,
  round: async (subject) => openedFirst(subject),
}

async function opened({ proxy, options }: Subject): Promise<Sample> {
  const latencies = new Latencies()
  const before = proxy.cpu()
  const ends = nowMicros() + options.seconds * 1e6
  for (let burst = 0; burst < LEAST_BURSTS || nowMicros() < ends; burst++) {
    await crowd(proxy.port, latencies)
    await sleep(SETTLE_MS)
  }
  return sampleOf(latencies, [before, proxy.cpu()], options.seconds)
}

async function openedFirst({ proxy, backendPort }: Subject): Promise<Sample> {
  for (let burst = 0; burst < REHEARSED_BURSTS; burst++) {
    await crowd(backendPort, new Latencies())
    await sleep(SETTLE_MS)
  }
  const latencies = new Latencies()
  const before = proxy.cpu()
  await crowd(proxy.port, latencies)
  return sampleOf(latencies, [before, proxy.cpu()], 1)
}

function sampleOf(latencies: Latencies, cpu: readonly Cpu[], seconds: number): Sample {
  const sorted = latencies.sorted()
  return {
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    ...cpuSpent(cpu, sorted.length, seconds),
  }
}

async function crowd(port: number, latencies: Latencies): Promise<void> {
  const over = new Deferred()
  const timer = setTimeout(
    () => over.reject(new Error('a stream did not start')),
    BURST_DEADLINE_MS,
  )
  let left = STREAMS
  const began = nowMicros()
  const sockets = Array.from({ length: STREAMS }, () =>
    openOne(port, over.reject, () => {
      latencies.add(nowMicros() - began)
      if (--left === 0) over.resolve()
    }),
  )
  try {
    await over.promise
  } finally {
    clearTimeout(timer)
    for (const one of sockets) leave(one)
  }
}

/** As cheap as possible: load and backend share one core, and are part of every figure. */
function openOne(port: number, failed: (error: Error) => void, started: () => void): Socket {
  let isFirst = true
  const socket = dial(port, () => {
    if (isFirst) started()
    isFirst = false
    return true
  })
  socket.on('error', failed)
  // Sent as soon as it is connected.
  socket.write(REQUEST, 'latin1')
  return socket
}

/** A reset avoids the TIME_WAIT state. Errors of the socket no longer matter. */
function leave(socket: Socket): void {
  socket.resetAndDestroy()
}
