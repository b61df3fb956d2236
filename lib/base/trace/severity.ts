// How an ending looks in a list of events.

import type { Severity } from './events.ts'

export function severityOf(status: number | null, error: string | null): Severity {
  if (error !== null || (status ?? 0) >= 500) return 'error'
  return (status ?? 0) >= 400 ? 'warn' : 'info'
}
