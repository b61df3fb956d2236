// Watches one request: reads /api/trace until its trace is over. It does not come back by itself: the next request would be
// another one.

import { EventStreamReader } from '../../../trace-view/timed-events.ts'
import { stepOf } from '../../../trace-view/trace-event.ts'
import type { Step } from '../../../trace-view/trace-event.ts'

/** A body of some megabytes is the largest part of an event, unless the gateway was told to keep more. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024

export interface WatchOwner {
  /** From now on a request that fits is traced. */
  ready(): void
  /** Those that came together. */
  steps(steps: readonly Step[]): void
}

/** Rejects when it is refused. */
export type Open = (path: string, init: { readonly signal: AbortSignal }) => Promise<Response>

/** Resolves when nothing more comes; rejects when it was refused, broke off or was stopped. */
export async function watchTrace(
  expression: string,
  owner: WatchOwner,
  signal: AbortSignal,
  open: Open,
): Promise<void> {
  const query = expression === '' ? '' : `?expression=${encodeURIComponent(expression)}`
  const response = await open(`/api/trace${query}`, { signal })
  owner.ready()
  let found: Step[] = []
  const reader = new EventStreamReader(({ kind, data }) => {
    if (kind === 'event') found.push(stepOf(data))
  }, MAX_EVENT_BYTES)
  const bytes = response.body!.getReader()
  for (;;) {
    const { done, value } = await bytes.read()
    if (done) return
    reader.write(value)
    if (found.length === 0) continue
    owner.steps(found)
    found = []
  }
}
