// What an open but idle event stream weighs in resident memory.
import { openStream } from './client.ts'
import { warm } from './load.ts'
import type { Measure } from './measure.ts'
import { StreamCrowd } from './stream-crowd.ts'

const STREAMS = 5000
const INTERVAL_MS = 5000

export const idle: Measure = {
  title: `${STREAMS.toLocaleString('en')} idle SSE streams, one chunk each ${INTERVAL_MS / 1000} s`,
  speaks: 'http',
  columns: [
    { key: 'before', title: 'RSS before MiB', digits: 1 },
    { key: 'after', title: 'RSS with streams MiB', digits: 1 },
    { key: 'each', title: 'KiB per stream', digits: 1 },
  ],
  leading: 'each',
  fresh: true,
  round: async ({ proxy, options }) => {
    await warm(proxy.port)
    const before = proxy.rssKib()
    const crowd = new StreamCrowd()
    try {
      await crowd.open(STREAMS, (_at, events) => openStream(proxy.port, INTERVAL_MS, events))
      await crowd.during(options.settleSeconds)
      const after = proxy.rssKib()
      return { before: before / 1024, after: after / 1024, each: (after - before) / STREAMS }
    } finally {
      crowd.leave()
    }
  },
}
