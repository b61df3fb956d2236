// The verdict of a policy on a request, which must be synchronous.

import * as assert from 'uvu/assert'
import type { Exchange } from '../../lib/core/exchange.ts'
import type { Policy, Reply } from '../../lib/core/types.ts'

/** Undefined if the policy allows the request. */
export function replyOrPass(policy: Policy, exchange: Exchange): Reply | undefined {
  const verdict = policy.request?.(exchange)
  assert.not.instance(verdict, Promise, `${policy.kind} must not wait here`)
  return verdict as Reply | undefined
}

/** The reply of a policy that answers instead of the backend. */
export function replyOf(policy: Policy, exchange: Exchange): Reply {
  const reply = replyOrPass(policy, exchange)
  assert.ok(reply !== undefined, `${policy.kind} must answer here`)
  return reply
}
