// Events as the providers write them.

import type { Json } from './types.ts'

export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

export function unnamed(data: Json): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** Its name stands in the data, too. */
export function named(data: Json & { readonly type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Chat completions and their elders say so when all is said. */
export const DONE = 'data: [DONE]\n\n'
