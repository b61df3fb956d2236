// Shows chunks to the watch of an answer, as a tapped body does.

import type { Outcome } from '../../../lib/base/types.ts'
import type { LlmFormat, Seen } from '../../../lib/forward/llm/types.ts'
import { watchOf } from '../../../lib/forward/llm/watch/watch.ts'
import { headOf } from '../../../lib/base/reply.ts'

/** A clock that moves by one with every look at it. */
function ticking(): () => number {
  let now = 100
  return () => ++now
}

export function watched(
  format: LlmFormat,
  type: string,
  chunks: readonly (Buffer | string)[],
  outcome: Outcome = 'complete',
): Seen {
  const watch = watchOf(format, headOf(200, [['content-type', type]]), ticking())
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    watch.chunk(bytes, 0, bytes.length)
  }
  watch.end(outcome)
  return watch.seen
}
