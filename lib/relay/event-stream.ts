// Tells buffering proxies in front of us to leave an event stream alone.

import type { ResponseHead } from '../base/wire/head.ts'

export function unbuffer(head: ResponseHead): void {
  const type = head.get('content-type')
  if (type === undefined || !isEventStream(type)) return
  if (!head.has('x-accel-buffering')) head.add('x-accel-buffering', 'no')
  if (!head.has('cache-control')) head.add('cache-control', 'no-cache')
}

function isEventStream(type: string): boolean {
  return type.length >= 17 && type.substring(0, 17).toLowerCase() === 'text/event-stream'
}
