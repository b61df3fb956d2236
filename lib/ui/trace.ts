// /api/trace: as /debug/trace.

import type { Watchers } from '../base/trace/watchers.ts'
import { watching } from '../base/trace/watching.ts'
import { problem } from './answers.ts'
import type { Answer, Ask } from './ask.ts'

export function traceAnswer({ query }: Ask, watchers: Watchers): Answer {
  const wish = watching(watchers, query.get('expression'))
  if (wish.kind === 'refused') return problem(wish.status, wish.reason)
  return { kind: 'events', open: wish.open }
}
