// What a proxy holds in memory while a reader stalls in the middle of 64 MiB, down and up.
import { warm } from './load.ts'
import type { Measure, Subject } from './measure.ts'
import { download, upload, type Transfer } from './transfer.ts'

const SAMPLE_EACH_MS = 50

export const down = measure('64 MiB down to a client that stalls', download)
export const up = measure('64 MiB up to a backend that stalls', upload)

function measure(what: string, transfer: Transfer): Measure {
  return {
    title: `${what}: growth of resident memory`,
    speaks: 'http',
    columns: [
      { key: 'before', title: 'RSS before MiB', digits: 1 },
      { key: 'stalled', title: 'grew while stalled MiB', digits: 1 },
      { key: 'whole', title: 'grew to the end MiB', digits: 1 },
    ],
    leading: 'before',
    fresh: true,
    round: async (subject) => {
      await warm(subject.proxy.port)
      const before = subject.proxy.rssKib() / 1024
      const peak = await watched(subject, transfer)
      return { before, stalled: peak.stalled - before, whole: peak.whole - before }
    },
  }
}

/** Highest resident memory in MiB while the reader stalls, and until the transfer is over. */
async function watched(
  { proxy, options }: Subject,
  transfer: Transfer,
): Promise<{ stalled: number; whole: number }> {
  const stallMs = options.stallSeconds * 1000
  const stallEnds = Date.now() + stallMs
  const peak = { stalled: 0, whole: 0 }
  const sample = (): void => {
    const rss = proxy.rssKib() / 1024
    peak.whole = Math.max(peak.whole, rss)
    if (Date.now() < stallEnds) peak.stalled = peak.whole
  }
  const watch = setInterval(sample, SAMPLE_EACH_MS)
  try {
    await transfer(proxy.port, stallMs)
    sample()
    return peak
  } finally {
    clearInterval(watch)
  }
}
