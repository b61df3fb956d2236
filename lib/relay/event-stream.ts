// Tells buffering proxies in front of us to leave an event stream alone.

import { isEventStream } from '../base/sse/media-type.ts'
import type { ResponseHead } from '../base/wire/head.ts'

/** Whether it is one. */
export function unbuffer(head: ResponseHead): boolean {
  if (!isEventStream(head.get('content-type'))) return false
  if (!head.has('x-accel-buffering')) head.add('x-accel-buffering', 'no')
  if (!head.has('cache-control')) head.add('cache-control', 'no-cache')
  return true
}
