// Loads one MCP session with tool calls: a fixed number in flight, each response followed by the next call.
import { setTimeout as sleep } from 'node:timers/promises'
import { Deferred } from './deferred.ts'
import { nowMicros } from './fixtures.ts'
import type { Opener } from './mcp-session.ts'
import { Stopwatch, type Timing, type Window } from './stopwatch.ts'

/** How long calls that are in flight at the end may take. */
const LAST_ANSWERS_MS = 5_000

export async function callsInFlight(
  open: Opener,
  inFlight: number,
  timing: Timing,
): Promise<Window> {
  const failure = new Deferred()
  const quiet = new Deferred()
  const watch = new Stopwatch()
  const sent = new Map<number, number>()
  let last = 0
  const next = (now: number): void => {
    sent.set(++last, now)
    session.call(last)
  }
  const session = await open(inFlight, {
    answered: (id) => {
      const now = nowMicros()
      watch.record(now - (sent.get(id) ?? Number.NaN))
      sent.delete(id)
      if (!watch.isOver) next(now)
      else if (sent.size === 0) quiet.resolve()
    },
    failed: failure.reject,
  })
  for (let count = 0; count < inFlight; count++) next(nowMicros())
  try {
    return await watch.run(timing, failure)
  } finally {
    watch.stop()
    // A session that ends with calls in flight would measure how peers cancel them.
    await Promise.race([quiet.promise, failure.promise, sleep(LAST_ANSWERS_MS)]).catch(() => {})
    await session.end()
  }
}
