// /debug/trace: the next request that passes, told step by step as an event stream. Which request it is is decided when it is
// accepted: an expression reads `request` and `source` then, and whatever is learnt later (`jwt`, `response`) is not there yet.

import type { Endpoints, Handler } from '../base/endpoints.ts'
import { USUAL_PACE } from '../base/sse/kept-out.ts'
import { streamEvents } from '../base/sse/response-out.ts'
import type { Watch } from '../base/trace/watching.ts'
import { answer } from './server.ts'

const PACE = { ...USUAL_PACE, keepAliveMs: 1_000 }

export function traceEndpoints(watch: Watch): Endpoints {
  const tell: Handler = (request, response, { searchParams }) => {
    request.resume()
    const wish = watch(searchParams.get('expression'))
    if (wish.kind === 'refused') return answer(response, wish.status, wish.reason)
    streamEvents(response, PACE, wish.open)
  }
  return { '/debug/trace': { POST: tell, GET: tell } }
}
