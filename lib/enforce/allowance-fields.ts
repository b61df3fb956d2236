// What an answer tells of the tightest limit its request met, whoever counts it.

import type { Exchange } from '../base/exchange.ts'
import type { Fields } from '../base/wire/head.ts'

export function tellAllowance({ allowance }: Exchange, head: Fields): void {
  if (allowance === null) return
  head.set('x-ratelimit-limit', String(allowance.limit))
  head.set('x-ratelimit-remaining', String(allowance.remaining))
  head.set('x-ratelimit-reset', String(allowance.reset))
}
