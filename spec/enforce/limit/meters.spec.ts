// Several token limits combined in one meter.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildTextReply } from '../../../lib/core/replies.ts'
import type { TokenCost, TokenMeter, Verdict } from '../../../lib/core/types.ts'
import { combineMeters } from '../../../lib/enforce/limit/local-limits.ts'
import { deadline } from '../../support/deadline.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'

const meters = suite('meters')

const NO = buildTextReply(429, 'no')

/** A meter that takes tokens and returns this verdict; the list records its calls. */
function meter(name: string, told: string[], verdict: () => Verdict = () => undefined): TokenMeter {
  return {
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

meters('without limits there is none, and a single one is used directly', () => {
  const one = meter('a', [])
  assert.is(combineMeters([]), null)
  assert.is(combineMeters([one]), one)
})

meters('are asked in order, and decide synchronously if all of them do', () => {
  const told: string[] = []
  const on = exchange()
  assert.is(combineMeters([meter('a', told), meter('b', told)])!.admit(on, 7), undefined)
  assert.equal(told, ['a 7', 'b 7'])
  assert.is(on.enforcement.charges.length, 2)
})

meters('refund what they took when a later one refuses', async () => {
  for (const verdict of [() => NO, laterNo])
    for (const first of [() => undefined, later]) {
      const told: string[] = []
      const on = exchange()
      on.enforcement.charges = [{ raise() {}, settle: () => told.push('not ours') }]
      const all = combineMeters([
        meter('a', told, first),
        meter('b', told),
        meter('c', told, verdict),
        meter('d', told),
      ])!
      const reply = await deadline(Promise.resolve(all.admit(on, 7)), 30_000, 'a verdict')
      assert.is(reply, NO)
      assert.equal(told.slice(0, 5), ['a 7', 'b 7', 'c 7', 'a settled 0', 'b settled 0'])
      assert.not(told.includes('not ours'))
      assert.is(on.enforcement.charges.length, 1)
    }
})

meters('ask no further limit after the client has closed the connection', async () => {
  const told: string[] = []
  const on = exchange()
  const leaves = (): Verdict => {
    on.phase = 'settled'
    return later()
  }
  const all = combineMeters([meter('a', told, leaves), meter('b', told)])!
  assert.is(await deadline(Promise.resolve(all.admit(on, 7)), 30_000, 'a verdict'), undefined)
  assert.equal(told, ['a 7'])
})

meters('all charge a cost that is known after the response was sent', async () => {
  const told: string[] = []
  const on = exchange()
  on.phase = 'settled'
  const all = combineMeters([meter('a', told, later), meter('b', told, later)])!
  assert.is(await deadline(Promise.resolve(all.admit(on, 0)), 30_000, 'a verdict'), undefined)
  assert.equal(told, ['a 0', 'b 0'])
  assert.is(on.enforcement.charges.length, 2)
})

meters.run()
