// What limits cost alone: the check, the settlement, their headers, and the memory of keys.
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { KEYS } from './limit-work.ts'
import type { Measure } from './measure.ts'
import type { Found } from './peers.ts'
import type { Sample } from './stats.ts'

const ANSWER_DEADLINE_MS = 60_000

/** No peer has comparable limits, so only the gateway is measured. */
export function findLimits(): Found {
  const file = join(import.meta.dirname, 'peers/limits.js')
  const command = (port: number): string[] => [process.execPath, '--expose-gc', file, `${port}`]
  return { peers: [{ name: 'gateway', speaks: 'limits', command }], missing: [] }
}

export const limitsCheck: Measure = {
  title: 'Limits, CPU of a request: checked, and settled where tokens count',
  speaks: 'limits',
  columns: [
    { key: 'requests', title: 'requests µs', digits: 2 },
    { key: 'headers', title: 'and headers µs', digits: 2 },
    { key: 'tokens', title: 'tokens µs', digits: 2 },
    { key: 'keyed', title: 'by key µs', digits: 2 },
    { key: 'cold', title: 'by key, all cold µs', digits: 2 },
  ],
  leading: 'keyed',
  fresh: false,
  round: async ({ name, proxy, options }) =>
    name === 'direct' ? {} : ask(proxy.port, `check ${options.seconds}`),
}

export const limitsKeys: Measure = {
  title: `Limits, a rule with ${KEYS.toLocaleString('en')} keys of 36 characters; later: all of them pushed out four times`,
  speaks: 'limits',
  columns: [
    { key: 'heap', title: 'heap MB', digits: 1 },
    { key: 'rss', title: 'RSS MB', digits: 1 },
    { key: 'laterHeap', title: 'later heap MB', digits: 1 },
    { key: 'laterRss', title: 'later RSS MB', digits: 1 },
  ],
  leading: 'heap',
  fresh: true,
  round: async ({ proxy }) => ask(proxy.port, 'keys'),
}

async function ask(port: number, line: string): Promise<Sample> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.setTimeout(ANSWER_DEADLINE_MS, () => socket.destroy(new Error('no answer in time')))
  socket.write(`${line}\n`)
  try {
    return JSON.parse(await text(socket)) as Sample
  } finally {
    socket.destroy()
  }
}
