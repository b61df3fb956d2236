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
function meter(
  name: string,
  calls: string[],
  verdict: () => Verdict = () => undefined,
): TokenMeter {
  return {
    admit(exchange, estimate) {
      calls.push(`${name} ${estimate}`)
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

meters('without limits there is none, and a single one is used directly', () => {
  const one = meter('a', [])
  assert.is(combineMeters([]), null)
  assert.is(combineMeters([one]), one)
})

meters('are asked in order, and decide synchronously if all of them do', () => {
  const calls: string[] = []
  const on = exchange()
  assert.is(combineMeters([meter('a', calls), meter('b', calls)])!.admit(on, 7), undefined)
  assert.equal(calls, ['a 7', 'b 7'])
  assert.is(on.enforcement.charges.length, 2)
})

meters('refund what they took when a later one refuses', async () => {
  for (const verdict of [() => NO, laterNo])
    for (const first of [() => undefined, later]) {
      const calls: string[] = []
      const on = exchange()
      on.enforcement.charges = [{ raise() {}, settle: () => calls.push('not ours') }]
      const all = combineMeters([
        meter('a', calls, first),
        meter('b', calls),
        meter('c', calls, verdict),
        meter('d', calls),
      ])!
      const reply = await deadline(Promise.resolve(all.admit(on, 7)), 30_000, 'a verdict')
      assert.is(reply, NO)
      assert.equal(calls.slice(0, 5), ['a 7', 'b 7', 'c 7', 'a settled 0', 'b settled 0'])
      assert.not(calls.includes('not ours'))
      assert.is(on.enforcement.charges.length, 1)
    }
})

meters('ask no further limit after the client has closed the connection', async () => {
  const calls: string[] = []
  const on = exchange()
  const leaves = (): Verdict => {
    on.phase = 'settled'
    return later()
  }
  const all = combineMeters([meter('a', calls, leaves), meter('b', calls)])!
  assert.is(await deadline(Promise.resolve(all.admit(on, 7)), 30_000, 'a verdict'), undefined)
  assert.equal(calls, ['a 7'])
})

meters('all charge a cost that is known after the response was sent', async () => {
  const calls: string[] = []
  const on = exchange()
  on.phase = 'settled'
  const all = combineMeters([meter('a', calls, later), meter('b', calls, later)])!
  assert.is(await deadline(Promise.resolve(all.admit(on, 0)), 30_000, 'a verdict'), undefined)
  assert.equal(calls, ['a 0', 'b 0'])
  assert.is(on.enforcement.charges.length, 2)
})

meters.run()
