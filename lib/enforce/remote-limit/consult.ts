// An exchange that waits for a rate limit service; if its client leaves, or is told that it took too long, so does the call.

import type { Exchange } from '../../base/exchange.ts'
import type { Call } from '../../base/types.ts'
import type { Asked } from './ask.ts'
import type { RateLimitService } from './client.ts'
import type { RateLimitRequest } from './codec.ts'

export async function consult(
  exchange: Exchange,
  service: RateLimitService,
  request: RateLimitRequest,
  ms: number,
): Promise<Asked> {
  const asking = service.ask(request, ms)
  const outer = exchange.call
  const call: Call = {
    cancel() {
      asking.cancel()
      outer?.cancel()
    },
  }
  exchange.call = call
  const asked = await asking.answer
  if (exchange.call === call) exchange.call = outer
  return asked
}
