// /api/trace: as /debug/trace.

import type { Watch } from '../base/trace/watching.ts'
import { problem } from './answers.ts'
import type { Answer, Ask } from './ask.ts'

export function traceAnswer({ query }: Ask, watch: Watch): Answer {
  const wish = watch(query.get('expression'))
  if (wish.kind === 'refused') return problem(wish.status, wish.reason)
  return { kind: 'events', open: wish.open }
}
