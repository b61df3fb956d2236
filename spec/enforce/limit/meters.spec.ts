// Several policies that limit tokens.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildTextReply } from '../../../lib/core/replies.ts'
import type { TokenCost, TokenLimitPolicy, Verdict } from '../../../lib/core/types.ts'
import { admit } from '../../../lib/enforce/run-policies.ts'
import { deadline } from '../../support/deadline.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { estimateFor } from '../../support/llm/estimates.ts'

const meters = suite('meters')

const NO = buildTextReply(429, 'no')

/** A policy that charges and then gives this verdict; its calls go to the list. */
function policy(
  name: string,
  calls: string[],
  verdict: () => Verdict = () => undefined,
): TokenLimitPolicy {
  return {
    kind: 'tokenLimit',
    admit(exchange, estimate) {
      calls.push(`${name} ${estimate.input}`)
      const reply = verdict()
      if (reply === undefined || reply instanceof Promise) {
        const settle = ({ input, output }: TokenCost): void =>
          void calls.push(`${name} settled ${input + output}`)
        exchange.enforcement.charges = [...exchange.enforcement.charges, { raise() {}, settle }]
      }
      return reply
    },
  }
}

function exchange() {
  return exchangeOf(requestOf('POST / HTTP/1.1', 'host: a'))
}

const later = (): Verdict => Promise.resolve(undefined)
const laterNo = (): Verdict => Promise.resolve(NO)

meters('allow a request if no policy limits tokens', () => {
  assert.is(admit(exchange(), [], estimateFor(7)), undefined)
  assert.is(admit(exchange(), [{ kind: 'cors' }], estimateFor(7)), undefined)
})

meters('run in order, and return synchronously if all of them do', () => {
  const calls: string[] = []
  const on = exchange()
  assert.is(admit(on, [policy('a', calls), policy('b', calls)], estimateFor(7)), undefined)
  assert.equal(calls, ['a 7', 'b 7'])
  assert.is(on.enforcement.charges.length, 2)
})

meters('refund their charge when a later one refuses', async () => {
  for (const verdict of [() => NO, laterNo])
    for (const first of [() => undefined, later]) {
      const calls: string[] = []
      const on = exchange()
      on.enforcement.charges = [{ raise() {}, settle: () => calls.push('not ours') }]
      const all = [
        policy('a', calls, first),
        policy('b', calls),
        policy('c', calls, verdict),
        policy('d', calls),
      ]
      const reply = await deadline(
        Promise.resolve(admit(on, all, estimateFor(7))),
        30_000,
        'a verdict',
      )
      assert.is(reply, NO)
      assert.equal(calls.slice(0, 5), ['a 7', 'b 7', 'c 7', 'a settled 0', 'b settled 0'])
      assert.not(calls.includes('not ours'))
      assert.is(on.enforcement.charges.length, 1)
    }
})

meters('do not continue after the client has disconnected', async () => {
  const calls: string[] = []
  const on = exchange()
  const disconnects = (): Verdict => {
    on.phase = 'settled'
    return later()
  }
  const all = [policy('a', calls, disconnects), policy('b', calls)]
  assert.is(
    await deadline(Promise.resolve(admit(on, all, estimateFor(7))), 30_000, 'a verdict'),
    undefined,
  )
  assert.equal(calls, ['a 7'])
})

meters('are all charged for a cost that is known after the response', async () => {
  const calls: string[] = []
  const on = exchange()
  on.phase = 'settled'
  const all = [policy('a', calls, later), policy('b', calls, later)]
  assert.is(
    await deadline(Promise.resolve(admit(on, all, estimateFor(0))), 30_000, 'a verdict'),
    undefined,
  )
  assert.equal(calls, ['a 0', 'b 0'])
  assert.is(on.enforcement.charges.length, 2)
})

meters.run()
