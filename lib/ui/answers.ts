// Answers that the page's server makes itself: data, and why there is none.

import type { Answer } from './ask.ts'
import type { Problem } from './api.ts'

export function jsonAnswer(status: number, value: unknown): Answer {
  return {
    kind: 'whole',
    status,
    fields: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
      ['x-content-type-options', 'nosniff'],
    ],
    content: JSON.stringify(value),
  }
}

export function problem(status: number, error: string): Answer {
  return jsonAnswer(status, { error } satisfies Problem)
}
