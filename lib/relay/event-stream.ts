// Tells buffering proxies in front of us to leave an event stream alone.

import type { ResponseHead } from '../base/wire/head.ts'

export function unbuffer(head: ResponseHead): void {
  const type = head.get('content-type')
  if (type === undefined || !isEventStream(type)) return
  if (!head.has('x-accel-buffering')) head.add('x-accel-buffering', 'no')
  if (!head.has('cache-control')) head.add('cache-control', 'no-cache')
}

const EVENT_STREAM = 'text/event-stream'

/** The type alone or with parameters; another one may begin the same. */
function isEventStream(type: string): boolean {
  const { length } = EVENT_STREAM
  if (type.length < length || type.substring(0, length).toLowerCase() !== EVENT_STREAM) return false
  const next = type.charAt(length)
  return next === '' || next === ';' || next === ' ' || next === '\t'
}
