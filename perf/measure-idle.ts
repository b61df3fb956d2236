// How much resident memory open but idle event streams use, and their effect on other traffic.
import { setTimeout as sleep } from 'node:timers/promises'
import { openStream } from './client.ts'
import { fixedRate, warm } from './load.ts'
import { manyStreams } from './many-streams.ts'
import type { Measure } from './measure.ts'
import type { PeerName } from './peers.ts'
import { percentile } from './stats.ts'
import { StreamCrowd } from './stream-crowd.ts'

const INTERVAL_MS = 5000
const PER_SECOND = 1000
const CONNECTIONS = 16
const WARM_SECONDS = 0.5

/** Each takes 15 seconds, so only peers that are compared with the gateway are measured. */
const WEIGHED: readonly PeerName[] = ['pipe', 'haproxy', 'gateway']

export const idle = measure(5000)
export const idleMany = measure(manyStreams())

function measure(streams: number): Measure {
  return {
    title:
      `${streams.toLocaleString('en')} idle SSE streams, one chunk each ${INTERVAL_MS / 1000} s; ` +
      `${PER_SECOND.toLocaleString('en')} small POSTs a second with them and after them`,
    speaks: 'http',
    columns: [
      { key: 'before', title: 'RSS before MiB', digits: 1 },
      { key: 'after', title: 'RSS with streams MiB', digits: 1 },
      { key: 'each', title: 'KiB per stream', digits: 1 },
      { key: 'alone', title: 'POST p99 alone µs', digits: 0 },
      { key: 'loaded', title: 'POST p99 with streams µs', digits: 0 },
      { key: 'ratio', title: 'with streams ÷ alone', digits: 2 },
    ],
    leading: 'each',
    fresh: true,
    round: async ({ name, proxy, options }) => {
      if (!WEIGHED.includes(name)) return {}
      await warm(proxy.port)
      const before = proxy.rssKib()
      const crowd = new StreamCrowd()
      try {
        await crowd.open(streams, (_at, events) => openStream(proxy.port, INTERVAL_MS, events))
        await crowd.during(options.settleSeconds)
        const after = proxy.rssKib()
        // Memory is measured first, before the traffic produces garbage.
        const loaded = await p99(proxy.port, options.seconds)
        crowd.leave()
        await sleep(options.settleSeconds * 1000)
        const alone = await p99(proxy.port, options.seconds)
        const each = (after - before) / streams
        const ratio = loaded / alone
        return { before: before / 1024, after: after / 1024, each, alone, loaded, ratio }
      } finally {
        crowd.leave()
      }
    },
  }
}

async function p99(port: number, seconds: number): Promise<number> {
  const plan = { port, connections: CONNECTIONS, warmSeconds: WARM_SECONDS, seconds }
  const window = await fixedRate({ ...plan, edge: () => {} }, PER_SECOND)
  return percentile(window.latencies, 0.99)
}
