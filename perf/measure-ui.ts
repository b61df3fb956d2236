// What an open web page costs: the small POST with the page closed, then open, then closed again, in one process.
import { findChromium } from '../spec/support/browser.ts'
import { fullSpeed } from './load.ts'
import { cpuSpent, type Column, type Measure, type Subject } from './measure.ts'
import type { Cpu } from './process.ts'
import type { Sample } from './stats.ts'
import { adminPortOf } from './ui-peers.ts'
import { openPage, readAll, type Closed } from './ui-reader.ts'

const CONNECTIONS = 64
const WARM_SECONDS = 0.5

const COLUMNS: readonly Column[] = [
  { key: 'closed', title: 'closed: req/s a core', digits: 0 },
  { key: 'open', title: 'open: req/s a core', digits: 0 },
  { key: 'share', title: 'open ÷ closed', digits: 3 },
  { key: 'browser', title: 'in Chromium: req/s a core', digits: 0 },
  { key: 'browserShare', title: 'in Chromium ÷ closed', digits: 3 },
]

export const uiOpen: Measure = {
  title: `Small JSON POST, ${CONNECTIONS} connections, with the page closed and open; plain: no admin interface`,
  speaks: 'ui',
  columns: COLUMNS,
  leading: 'closed',
  fresh: false,
  round,
}

async function round(subject: Subject): Promise<Sample> {
  if (subject.name === 'direct') return {}
  const first = await capacityOf(subject)
  if (subject.name === 'plain') return { closed: first }
  const port = adminPortOf(subject.proxy.port)
  const chromium = findChromium()
  const opened = [await withOpen(subject, await readAll(port))]
  const browser =
    chromium.kind === 'missing'
      ? Number.NaN
      : await withOpen(subject, await openPage(port, chromium))
  opened.push(await withOpen(subject, await readAll(port)))
  // Closed is measured first and last, so that drift affects both.
  const closed = (first + (await capacityOf(subject))) / 2
  const open = (opened[0]! + opened[1]!) / 2
  return { closed, open, share: open / closed, browser, browserShare: browser / closed }
}

async function withOpen(subject: Subject, close: Closed): Promise<number> {
  try {
    return await capacityOf(subject)
  } finally {
    await close()
  }
}

async function capacityOf({ proxy, options }: Subject): Promise<number> {
  const cpu: Cpu[] = []
  const window = await fullSpeed({
    port: proxy.port,
    connections: CONNECTIONS,
    warmSeconds: WARM_SECONDS,
    seconds: options.seconds,
    edge: () => cpu.push(proxy.cpu()),
  })
  return cpuSpent(cpu, window.answers, window.seconds)['capacity'] ?? Number.NaN
}
