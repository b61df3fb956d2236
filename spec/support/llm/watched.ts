// Passes chunks to the watch of a response, as a tapped body does.

import type { Outcome } from '../../../lib/core/types.ts'
import type { LlmFormat, ObservedUsage } from '../../../lib/forward/llm/llm-call-types.ts'
import { createResponseWatch } from '../../../lib/forward/llm/usage/response-watch.ts'
import { buildResponseHead } from '../../../lib/core/replies.ts'

/** A clock that advances by one with every call. */
function ticking(): () => number {
  let now = 100
  return () => ++now
}

export function watched(
  format: LlmFormat,
  type: string,
  chunks: readonly (Buffer | string)[],
  outcome: Outcome = 'complete',
): ObservedUsage {
  const watch = createResponseWatch(
    format,
    buildResponseHead(200, [['content-type', type]]),
    ticking(),
  )
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    watch.chunk(bytes, 0, bytes.length)
  }
  watch.end(outcome)
  return watch.observed
}
