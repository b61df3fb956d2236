// An event as one line of JSON.

import type { TraceEvent } from './events.ts'

export function eventText(event: TraceEvent): string {
  const { message } = event
  if (message.type !== 'bodySnapshot') return JSON.stringify(event)
  const { body, type, stage, bytes, truncated, arrivals, arrivalStep } = message
  const others = { bytes, truncated, arrivals, arrivalStep }
  const text = JSON.stringify({ ...event, message: { type, stage, body: '', ...others } })
  // Base64 has nothing to escape: to look for it in megabytes would take longer than all else.
  return text.replace('"body":""', () => `"body":"${body}"`)
}
