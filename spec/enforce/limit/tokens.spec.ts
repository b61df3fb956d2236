// remoteRateLimit of LLM tokens: hits at admission, settlement at the end, and refusals.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../../lib/core/exchange.ts'
import { chargeLate } from '../../../lib/forward/llm/usage/usage-settlement.ts'
import { RlsDouble } from '../../support/rls/double.ts'
import type { RlsBehavior } from '../../support/rls/double.ts'
import { exchangeFor, Limited, of, REFUSED } from './stage.ts'
import { estimateFor } from '../../support/llm/estimates.ts'
import { until } from '../../support/until.ts'

const tokens = suite('remote limits of tokens')

const closing: (() => void)[] = []
tokens.after.each(() => {
  for (const close of closing.splice(0)) close()
})

const RULES = {
  user: { requests_per_unit: 100, unit: 'MINUTE' },
  model: { requests_per_unit: 1_000, unit: 'HOUR' },
} as const

async function double(manners: Partial<RlsBehavior> = {}): Promise<RlsDouble> {
  const rls = await RlsDouble.start({ rules: RULES, ...manners })
  closing.push(() => rls.stop())
  return rls
}

const BY_USER = 'descriptors: [{ entries: [{ key: user, value: jwt.sub }], type: tokens }]'

function limited({ endpoint }: RlsDouble, fields = BY_USER): Limited {
  const one = new Limited(endpoint, fields)
  closing.unshift(() => one.close())
  return one
}

function settle(exchange: Exchange, input: number, output: number): void {
  for (const charge of exchange.enforcement.charges)
    charge.settle({ input, output, basis: 'counted' })
}

/** Waits until the service has received this many calls. */
async function called(rls: RlsDouble, count: number): Promise<void> {
  await until(`${count} calls`, () => rls.requests.length >= count)
}

function hitsOf(rls: RlsDouble): (string | undefined)[][] {
  return rls.requests.map(({ descriptors }) => descriptors.map((one) => one.hits_addend?.value))
}

tokens(
  'take the estimate at admission, and settle with what the request cost beyond it',
  async () => {
    const rls = await double()
    const limit = limited(rls)
    const exchange = of('ada')
    assert.is(await limit.admit(exchange, 20), 'pass')
    await called(rls, 2)
    assert.is(rls.countOf('user', 'ada'), 20)
    settle(exchange, 30, 25)
    await called(rls, 3)
    assert.is(rls.countOf('user', 'ada'), 55)
    assert.equal(hitsOf(rls), [['1'], ['19'], ['35']])
  },
)

tokens('are settled once, and a raise takes only what is added', async () => {
  const rls = await double()
  const limit = limited(rls)
  const exchange = of('ada')
  await limit.admit(exchange, 20)
  exchange.enforcement.charges[0]!.raise(estimateFor(50))
  settle(exchange, 30, 25)
  settle(exchange, 30, 25)
  // Sent after the others on the same connection, so that those have arrived.
  await limit.admit(of('bob'), 1)
  assert.equal(hitsOf(rls).slice(0, -1), [['1'], ['19'], ['30'], ['5']])
})

tokens('that were estimated stay counted, because the protocol has no refund', async () => {
  const rls = await double()
  const limit = limited(rls)
  for (const [input, output] of [
    [1, 0],
    [0, 0],
    [NaN, -7],
  ] as const) {
    const exchange = of('ada')
    assert.is(await limit.admit(exchange, 20), 'pass')
    settle(exchange, input, output)
  }
  await limit.admit(of('bob'), 1)
  assert.equal([rls.countOf('user', 'ada'), rls.requests.length], [60, 7])
})

tokens('of parallel requests are taken before any of them is answered', async () => {
  const rls = await double()
  const [one, other] = [limited(rls), limited(rls)]
  const verdicts: string[] = []
  for (let at = 0; at < 6; at++) {
    verdicts.push(await [one, other][at % 2]!.admit(of('ada'), 40))
    // Two calls for each request that passes.
    await called(rls, Math.min(2 * (at + 1), 6))
  }
  const refused = '429 rate limit exceeded'
  assert.equal(verdicts, ['pass', 'pass', 'pass', refused, refused, refused])
})

tokens('that the service could not take at admission are settled at the end', async () => {
  const rls = await double()
  const limit = limited(rls)
  const exchange = of('ada')
  // Only the first call succeeds: the second may arrive before this process could set the failure.
  Object.defineProperty(rls.behavior, 'fail', {
    get: () => (rls.requests.length > 1 ? { code: 2, details: 'no' } : undefined),
    configurable: true,
  })
  assert.is(await limit.admit(exchange, 20), 'pass')
  await until('a line', () => limit.log.all.length > 0)
  delete rls.behavior.fail
  settle(exchange, 30, 25)
  await called(rls, 3)
  assert.is(rls.countOf('user', 'ada'), 55)
})

tokens('are taken as requests for the model cost before', async () => {
  const rls = await double({ rules: { user: { requests_per_unit: 100_000, unit: 'MINUTE' } } })
  const limit = limited(rls)
  const estimate = { model: 'm', input: 20, output: 0, maxOutput: null }
  for (let at = 0; at < 5; at++) {
    const exchange = of('ada')
    assert.is(await limit.meter.admit(exchange, estimate), undefined)
    settle(exchange, 20, 500)
  }
  await called(rls, 14)
  assert.is(rls.countOf('user', 'ada'), 5 * 520)
  assert.equal(hitsOf(rls).slice(-2), [['1'], ['519']])
})

tokens('are charged to the request that overshoots the budget; the next is refused', async () => {
  const rls = await double()
  rls.now = 60_000 + 45
  const limit = limited(rls)
  const first = of('ada')
  assert.is(await limit.admit(first, 1), 'pass')
  settle(first, 70, 20)
  await called(rls, 2)
  // 10 remain, and this request needs more.
  const second = of('ada')
  assert.is(await limit.admit(second, 500), 'pass')
  assert.equal(limit.answerOf(second), {
    'x-ratelimit-limit': '100',
    'x-ratelimit-remaining': '9',
    'x-ratelimit-reset': '15',
  })
  settle(second, 400, 100)
  await called(rls, 4)
  const third = of('ada')
  assert.is(await limit.admit(third, 1), '429 rate limit exceeded')
  assert.is(REFUSED.get(third)!['retry-after'], '15')
  assert.is(third.enforcement.charges.length, 0)
  rls.now += 15
  assert.is(await limit.admit(of('ada'), 1), 'pass')
})

tokens('are refused when exactly nothing remains', async () => {
  const rls = await double()
  const limit = limited(rls)
  const exchange = of('ada')
  assert.is(await limit.admit(exchange, 1), 'pass')
  settle(exchange, 50, 50)
  await called(rls, 2)
  assert.is(rls.countOf('user', 'ada'), 100)
  assert.is(await limit.admit(of('ada'), 0), '429 rate limit exceeded')
})

tokens('of two gateways share one budget', async () => {
  const rls = await double()
  const [one, other] = [limited(rls), limited(rls)]
  const exchange = of('ada')
  assert.is(await one.admit(exchange, 1), 'pass')
  settle(exchange, 200, 0)
  await called(rls, 2)
  assert.is(await other.admit(of('ada'), 1), '429 rate limit exceeded')
})

tokens('are refused by any of several limits, and by no shadow limit', async () => {
  const rules = {
    ...RULES,
    user: { requests_per_unit: 10, unit: 'MINUTE', shadow: true },
  } as const
  const rls = await double({ rules })
  const limit = limited(
    rls,
    `descriptors: [{ entries: [{ key: user, value: jwt.sub }], type: tokens },
      { entries: [{ key: model, value: llm.requestModel }], type: tokens },
      { entries: [{ key: free, value: '"x"' }], type: tokens }]`.replaceAll(/\n\s+/g, ' '),
  )
  const use = async (model: string): Promise<string> => {
    const facts = { jwt: new Map([['sub', 'ada']]), llm: { requestModel: model } }
    const exchange = exchangeFor(facts)
    const calls = rls.requests.length
    const said = await limit.admit(exchange, 1)
    settle(exchange, 600, 0)
    if (said === 'pass') await called(rls, calls + 2)
    return said
  }
  assert.is(await use('m'), 'pass')
  assert.is(await use('m'), 'pass')
  assert.is(await use('m'), '429 rate limit exceeded')
  assert.is(await use('n'), 'pass')
})

tokens('with their own cost are only checked at admission, and counted at the end', async () => {
  const rls = await double()
  const limit = limited(
    rls,
    `descriptors: [{ entries: [{ key: user, value: jwt.sub }], type: tokens,
      cost: 'llm.inputTokens + llm.outputTokens * 10' }]`.replaceAll(/\n\s+/g, ' '),
  )
  const exchange = of('ada')
  assert.is(await limit.admit(exchange, 50), 'pass')
  exchange.facts!.llm = { inputTokens: 1, outputTokens: 12 }
  settle(exchange, 1, 12)
  await called(rls, 2)
  assert.equal(hitsOf(rls), [['0'], ['121']])
  assert.is(await limit.admit(of('ada'), 50), '429 rate limit exceeded')
  // A request whose cost cannot be evaluated, and one that reached no provider.
  const other = of('bob')
  assert.is(await limit.admit(other, 50), 'pass')
  settle(other, 1, 1)
  const unsent = of('bob')
  await limit.admit(unsent, 50)
  unsent.facts!.llm = { inputTokens: 1, outputTokens: 12 }
  settle(unsent, 0, 0)
  await limit.admit(of('eve'), 1)
  assert.is(rls.countOf('user', 'bob'), 0)
})

tokens('without a descriptor pass synchronously', async () => {
  const rls = await double()
  const limit = limited(rls)
  const exchange = exchangeFor(null)
  assert.is(limit.meter.admit(exchange, estimateFor(5)), undefined)
  assert.equal([exchange.enforcement.charges.length, rls.requests.length], [0, 0])
})

tokens('are refused by a service that does not name the limit', async () => {
  const extra = () => ({ overall_code: 'OVER_LIMIT' as const, statuses: [] })
  const limit = limited(await double({ extra }))
  const exchange = of('ada')
  assert.is(await limit.admit(exchange, 5), '429 rate limit exceeded')
  assert.is(REFUSED.get(exchange)!['retry-after'], undefined)
})

tokens('are refused with the body and headers of the service', async () => {
  const extra = ({ overall_code }: { overall_code: string }) => ({
    raw_body: Buffer.from('enough'),
    response_headers_to_add: [
      { key: 'x-vendor-ratelimited', value: String(overall_code === 'OVER_LIMIT') },
    ],
  })
  const rls = await double({ extra })
  const limit = limited(rls)
  const first = of('ada')
  assert.is(await limit.admit(first, 50), 'pass')
  settle(first, 500, 0)
  await called(rls, 2)
  // The response to a settlement is ignored.
  assert.is(limit.answerOf(first)['x-vendor-ratelimited'], 'false')
  const third = of('ada')
  assert.is(await limit.admit(third, 5), '429 enough')
  assert.is(REFUSED.get(third)!['x-vendor-ratelimited'], 'true')
})

tokens(
  'are refused while the service is down, or pass and are settled if it is back by then',
  async () => {
    const rls = await double({ fail: { code: 2, details: 'no' } })
    const closed = limited(rls)
    const open = limited(rls, `${BY_USER}, failureMode: failOpen`)
    const refused = of('ada')
    assert.is(await closed.admit(refused, 20), '500 rate limit failed')
    assert.is(refused.enforcement.charges.length, 0)
    const exchange = of('ada')
    assert.is(await open.admit(exchange, 20), 'pass')
    delete rls.behavior.fail
    settle(exchange, 30, 25)
    await called(rls, 3)
    assert.is(rls.countOf('user', 'ada'), 55)
  },
)

tokens('that cannot be settled are logged', async () => {
  const rls = await double()
  const limit = limited(rls)
  const exchange = of('ada')
  await limit.admit(exchange, 20)
  rls.behavior.fail = { code: 2, details: 'no' }
  settle(exchange, 30, 25)
  await until('a line', () => limit.log.all.length > 0)
  assert.equal(limit.log.all[0]!.slice(0, 2), ['warn', 'rate limit service failed'])
})

tokens('are not charged when the client closes the connection while it waits', async () => {
  let release = (): void => {}
  const rls = await double({ hold: new Promise((resolve) => (release = resolve)) })
  const limit = limited(rls)
  const exchange = of('ada')
  const verdict = limit.admit(exchange, 20)
  await called(rls, 1)
  exchange.abandon('client_closed')
  assert.is(await verdict, 'pass')
  assert.is(exchange.enforcement.charges.length, 0)
  release()
})

tokens('of a request admitted as free are charged when its response reports a cost', async () => {
  const rls = await double()
  const limit = limited(rls)
  for (const phase of ['relay', 'settled'] as const) {
    const exchange = of(phase)
    exchange.phase = phase
    exchange.choice.tokenPolicies = [limit.meter]
    chargeLate(exchange, { input: 30, output: 25, basis: 'counted' })
  }
  await called(rls, 4)
  assert.equal([rls.countOf('user', 'relay'), rls.countOf('user', 'settled')], [55, 55])

  const beyond = of('relay')
  beyond.phase = 'relay'
  beyond.choice.tokenPolicies = [limit.meter]
  chargeLate(beyond, { input: 60, output: 0, basis: 'counted' })
  await called(rls, 6)
  const spent = of('relay')
  spent.phase = 'relay'
  spent.choice.tokenPolicies = [limit.meter]
  chargeLate(spent, { input: 60, output: 0, basis: 'counted' })
  await called(rls, 7)
  assert.is(await limit.admit(of('relay'), 1), '429 rate limit exceeded')
  assert.equal(
    [spent.enforcement.refusalReason, spent.enforcement.charges.length],
    ['', 0],
    'it was answered all the same',
  )
})

tokens.run()
