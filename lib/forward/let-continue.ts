// `expect: 100-continue`: a backend answers it itself, but where the body is wanted before one is asked, nobody else would.

import type { Exchange } from '../base/exchange.ts'
import { headOf } from '../base/reply.ts'

/** Tells a client that waits with its body to send it. */
export function letContinue({ request, client }: Exchange): void {
  if (request.get('expect')?.toLowerCase() !== '100-continue') return
  request.remove('expect')
  client.inform(headOf(100, []))
}
