// A process that only checks limits, on the core of the proxies. A connection requests one round with a line,
// `check seconds` or `keys`, and gets the figures as JSON. Argument: port.
import { createServer } from 'node:net'
import { nowMicros } from '../fixtures.ts'
import { KEYS, KeyRing, LIMIT_CASES, LimitWork } from '../limit-work.ts'

/** Checks between two reads of the clock. */
const BATCH = 5_000
const OTHERS = 4

const works = new Map(LIMIT_CASES.map((name) => [name, new LimitWork(name)]))

/** Microseconds of CPU time each; other processes on the core do not count. */
function check(seconds: number): Record<string, number> {
  const figures: Record<string, number> = {}
  for (const [name, work] of works) {
    const before = process.cpuUsage()
    const until = nowMicros() + (seconds * 1e6) / works.size
    let count = 0
    for (; nowMicros() < until; count += BATCH) for (let at = 0; at < BATCH; at++) work.once()
    const { user, system } = process.cpuUsage(before)
    figures[name] = (user + system) / count
  }
  return figures
}

/** Megabytes: of a full rule, and after all its keys were replaced several times. */
function keys(): Record<string, number> {
  works.clear()
  const ring = new KeyRing()
  const before = held()
  ring.fill(0, KEYS)
  const full = held()
  ring.fill(KEYS, OTHERS * KEYS)
  const later = held()
  if (ring.rule.keyed?.size !== KEYS) throw new Error('the keys are not there')
  return {
    heap: full.heap - before.heap,
    rss: full.rss - before.rss,
    laterHeap: later.heap - before.heap,
    laterRss: later.rss - before.rss,
  }
}

/** Started with --expose-gc. */
function held(): { heap: number; rss: number } {
  for (let at = 0; at < 3; at++) globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: (heapUsed + external) / 1e6, rss: rss / 1e6 }
}

createServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.setEncoding('latin1').once('data', (line: string) => {
    const [what, seconds] = line.trim().split(' ')
    socket.end(JSON.stringify(what === 'keys' ? keys() : check(Number(seconds))))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
