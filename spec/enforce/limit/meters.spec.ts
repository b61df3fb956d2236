// Several policies that limit tokens.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildTextReply } from '../../../lib/core/replies.ts'
import type { TokenCost, TokenLimitPolicy, Verdict } from '../../../lib/core/types.ts'
import { admit } from '../../../lib/enforce/run-policies.ts'
import { deadline } from '../../support/deadline.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'

const meters = suite('meters')

const NO = buildTextReply(429, 'no')

/** A policy that charges and then gives this verdict; its calls go to the list. */
function policy(
  name: string,
  told: string[],
  verdict: () => Verdict = () => undefined,
): TokenLimitPolicy {
  return {
    kind: 'tokenLimit',
    admit(exchange, estimate) {
      told.push(`${name} ${estimate}`)
      const reply = verdict()
      if (reply === undefined || reply instanceof Promise) {
        const settle = ({ input, output }: TokenCost): void =>
          void told.push(`${name} settled ${input + output}`)
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

meters('let a request pass where no policy limits tokens', () => {
  assert.is(admit(exchange(), [], 7), undefined)
  assert.is(admit(exchange(), [{ kind: 'cors' }], 7), undefined)
})

meters('are asked in order, and decide at once if all of them do', () => {
  const told: string[] = []
  const on = exchange()
  assert.is(admit(on, [policy('a', told), policy('b', told)], 7), undefined)
  assert.equal(told, ['a 7', 'b 7'])
  assert.is(on.enforcement.charges.length, 2)
})

meters('give back what they took when a later one refuses', async () => {
  for (const verdict of [() => NO, laterNo])
    for (const first of [() => undefined, later]) {
      const told: string[] = []
      const on = exchange()
      on.enforcement.charges = [{ raise() {}, settle: () => told.push('not ours') }]
      const all = [
        policy('a', told, first),
        policy('b', told),
        policy('c', told, verdict),
        policy('d', told),
      ]
      const reply = await deadline(Promise.resolve(admit(on, all, 7)), 30_000, 'a verdict')
      assert.is(reply, NO)
      assert.equal(told.slice(0, 5), ['a 7', 'b 7', 'c 7', 'a settled 0', 'b settled 0'])
      assert.not(told.includes('not ours'))
      assert.is(on.enforcement.charges.length, 1)
    }
})

meters('ask nobody else once the client has left', async () => {
  const told: string[] = []
  const on = exchange()
  const leaves = (): Verdict => {
    on.phase = 'settled'
    return later()
  }
  const all = [policy('a', told, leaves), policy('b', told)]
  assert.is(await deadline(Promise.resolve(admit(on, all, 7)), 30_000, 'a verdict'), undefined)
  assert.equal(told, ['a 7'])
})

meters('are all told of a cost that is known behind the answer', async () => {
  const told: string[] = []
  const on = exchange()
  on.phase = 'settled'
  const all = [policy('a', told, later), policy('b', told, later)]
  assert.is(await deadline(Promise.resolve(admit(on, all, 0)), 30_000, 'a verdict'), undefined)
  assert.equal(told, ['a 0', 'b 0'])
  assert.is(on.enforcement.charges.length, 2)
})

meters.run()
