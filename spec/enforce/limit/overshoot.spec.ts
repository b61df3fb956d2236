// By how much 200 parallel requests exceed a budget of tokens: in the first window, when only their bodies are known, and
// in the windows after it, when the limit has seen what such requests cost.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Exchange } from '../../../lib/core/exchange.ts'
import type { TokenLimitPolicy } from '../../../lib/core/types.ts'
import { LimitOwnerClient } from '../../../lib/enforce/limit/limit-owner-client.ts'
import { LimitRegistry } from '../../../lib/enforce/limit/limits.ts'
import { createTokenLimitPolicy } from '../../../lib/enforce/limit/local-limits.ts'
import { createSharedTokenLimitPolicy } from '../../../lib/enforce/limit/shared-limits.ts'
import { estimateCost } from '../../../lib/forward/llm/provider-attempts.ts'
import { LimitOwner } from '../../../lib/processes/limit-owner.ts'
import { firstListener, routeText, ungatedConfig } from '../../support/config.ts'
import { deadline } from '../../support/deadline.ts'
import { exchangeOf, requestOf } from '../../support/exchange-of.ts'
import { linkPair } from '../../support/link-pair.ts'

const overshoot = suite('overshoot of token limits')

const BUDGET = 10_000
const WINDOW = 60_000
const PARALLEL = 200
const WINDOWS = 6

interface Mix {
  readonly name: string
  readonly model: string
  /** Bytes of the body. */
  readonly size: number
  readonly maxTokens: number | null
  readonly input: number
  /** The tokens of an answer are between these. */
  readonly output: readonly [least: number, most: number]
  /** The factor of the first window, which is that of every window without learning. */
  readonly before: number
}

const MIXES: readonly Mix[] = [
  {
    name: 'no max_tokens',
    model: 'a',
    size: 200,
    maxTokens: null,
    input: 45,
    output: [100, 700],
    before: 9,
  },
  {
    name: 'max_tokens 400',
    model: 'b',
    size: 200,
    maxTokens: 400,
    input: 45,
    output: [200, 400],
    before: 3.5,
  },
  {
    name: 'max_tokens 4,000',
    model: 'c',
    size: 200,
    maxTokens: 4_000,
    input: 45,
    output: [1_000, 4_000],
    before: 5.1,
  },
  {
    name: 'a prompt of 4 KB',
    model: 'd',
    size: 4_096,
    maxTokens: null,
    input: 900,
    output: [200, 600],
    before: 1.3,
  },
  {
    name: 'a tiny body',
    model: 'e',
    size: 80,
    maxTokens: null,
    input: 50,
    output: [5_000, 5_000],
    before: 101,
  },
]

interface Admitted {
  readonly exchange: Exchange
  readonly mix: Mix
}

/** A limit, a clock, and random answers that are the same in every run. */
class Load {
  time = 0
  meter!: TokenLimitPolicy
  #seed = 1

  readonly now = (): number => this.time

  /** One process that counts itself. */
  static alone(): Load {
    const load = new Load()
    load.meter = createTokenLimitPolicy(rulesOf(new LimitRegistry(load.now)))
    return load
  }

  /** A worker that asks the owner of limits. */
  static ofWorker(): Load {
    const load = new Load()
    const { here, there } = linkPair()
    new LimitOwner(load.now).workerStarted({ slot: 1, epoch: 1 }, there)
    const client = new LimitOwnerClient(here)
    load.meter = createSharedTokenLimitPolicy(rulesOf(new LimitRegistry(load.now, client)), client)
    return load
  }

  /** Sends all requests of a window at once, then all answers; returns what they cost as a part of the budget. */
  async window(mixes: readonly Mix[]): Promise<number> {
    const requests = Array.from({ length: PARALLEL }, (_, at) =>
      this.#admit(mixes[at % mixes.length]!),
    )
    const all = await deadline(Promise.all(requests), 30_000, 'all verdicts')
    const admitted = all.filter((one) => one !== null)
    let spent = 0
    for (const { exchange, mix } of admitted) {
      const cost = { input: mix.input, output: this.#answer(mix), basis: 'counted' } as const
      spent += cost.input + cost.output
      for (const charge of exchange.enforcement.charges) charge.settle(cost)
    }
    // The owner of limits gets the costs before the window ends.
    await new Promise((resolve) => setImmediate(resolve))
    this.time += WINDOW
    return spent / BUDGET
  }

  async #admit(mix: Mix): Promise<Admitted | null> {
    const exchange = exchangeOf(requestOf('POST /v1/chat/completions HTTP/1.1', 'host: a'))
    const { size: textSize, maxTokens, model } = mix
    const reply = await this.meter.admit(exchange, estimateCost({ textSize, maxTokens }, model))
    return reply === undefined ? { exchange, mix } : null
  }

  #answer({ output: [least, most] }: Mix): number {
    this.#seed = (this.#seed * 48_271) % 2_147_483_647
    return least + Math.round((most - least) * (this.#seed / 2_147_483_647))
  }
}

function rulesOf(limits: LimitRegistry) {
  const text = `backends: [{ host: "a:1" }], policies: { rateLimit: { local: [{ tokens: ${BUDGET}, unit: Minutes }] } }`
  const { routes } = firstListener(ungatedConfig(routeText(text)))
  return routes[0]!.limits.map((config) => limits.ruleFor('route', config))
}

for (const [where, start] of [
  ['a process', () => Load.alone()],
  ['workers', () => Load.ofWorker()],
] as const)
  for (const mix of MIXES)
    overshoot(`of ${where} is at most 1.5 after the first window: ${mix.name}`, async () => {
      const load = start()
      assert.is(Math.round((await load.window([mix])) * 10) / 10, mix.before)
      for (let window = 1; window < WINDOWS; window++) {
        const factor = await load.window([mix])
        assert.ok(factor >= 0.75 && factor <= 1.5, `window ${window}: ${factor}`)
      }
    })

overshoot('is at most 1.5 when all mixes arrive together', async () => {
  const load = Load.alone()
  await load.window(MIXES)
  for (let window = 1; window < WINDOWS; window++) {
    const factor = await load.window(MIXES)
    assert.ok(factor >= 0.75 && factor <= 1.5, `window ${window}: ${factor}`)
  }
})

overshoot('is at most 1.5 when all mixes use the same model', async () => {
  const load = Load.alone()
  const mixes = MIXES.map((mix) => ({ ...mix, model: 'one' }))
  await load.window(mixes)
  for (let window = 1; window < WINDOWS; window++) {
    const factor = await load.window(mixes)
    assert.ok(factor <= 1.5, `window ${window}: ${factor}`)
  }
})

overshoot.run()
