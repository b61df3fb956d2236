// Limits of several workers: the owner in the supervisor, and the workers that ask it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_COST } from '../../lib/core/exchange.ts'
import type { Exchange } from '../../lib/core/exchange.ts'
import type { RateLimitRule } from '../../lib/enforce/limit/limit-rule.ts'
import { ASK_LIMITS } from '../../lib/enforce/limit/limit-messages.ts'
import type { LimitBatch } from '../../lib/enforce/limit/limit-messages.ts'
import { buildResponseHead } from '../../lib/core/replies.ts'
import type { Charge, TokenEstimate, TokenLimitPolicy, Policy } from '../../lib/core/types.ts'
import {
  createSharedRateLimitPolicy,
  createSharedTokenLimitPolicy,
} from '../../lib/enforce/limit/shared-limits.ts'
import { LimitOwnerClient } from '../../lib/enforce/limit/limit-owner-client.ts'
import { LimitRegistry } from '../../lib/enforce/limit/limits.ts'
import {
  createLocalRateLimitPolicy,
  createTokenLimitPolicy,
} from '../../lib/enforce/limit/local-limits.ts'
import { LimitOwner } from '../../lib/processes/limit-owner.ts'
import { firstListener, routeText, ungatedConfig } from '../support/config.ts'
import { deadline } from '../support/deadline.ts'
import { exchangeOf, requestOf } from '../support/exchange-of.ts'
import { linkPair } from '../support/link-pair.ts'
import { estimateFor } from '../support/llm/estimates.ts'

const test = suite('workers/limit-owner')

const soon = <T>(work: Promise<T>): Promise<T> => deadline(work, 30_000, 'the owner of limits')

const KEYED = `key: 'request.headers["x-user"]'`

/** The same limits in several workers. */
class Stage {
  time = 0
  readonly owner = new LimitOwner(() => this.time)
  readonly #entries: readonly string[]
  #epoch = 0

  constructor(...entries: string[]) {
    this.#entries = entries
  }

  worker(entries = this.#entries): Worker {
    const { here, there, said: sent } = linkPair()
    const limits = new LimitRegistry(() => this.time, new LimitOwnerClient(here))
    const id = { slot: 1, epoch: ++this.#epoch }
    this.owner.workerStarted(id, there)
    return new Worker(limits, entries, { sent, leave: () => this.owner.workerGone(id) })
  }

  /** One process, which counts for itself. */
  alone(): Worker {
    return new Worker(new LimitRegistry(() => this.time), this.#entries, { sent: [], leave() {} })
  }
}

interface Side {
  readonly sent: readonly unknown[]
  readonly leave: () => void
}

class Worker {
  readonly limits: LimitRegistry
  readonly rules: readonly RateLimitRule[]
  readonly policy: Policy
  readonly meter: TokenLimitPolicy
  readonly sent: readonly unknown[]
  readonly leave: () => void

  constructor(limits: LimitRegistry, entries: readonly string[], { sent, leave }: Side) {
    const local = entries.map((entry) => `{ ${entry} }`).join(', ')
    const text = `backends: [{ host: "a:1" }], policies: { rateLimit: { local: [${local}] } }`
    const [route] = firstListener(ungatedConfig(routeText(text))).routes
    this.limits = limits
    this.rules = route!.limits.map((config) => limits.ruleFor('route', config))
    const { ownerClient } = limits
    this.policy =
      ownerClient === null
        ? createLocalRateLimitPolicy(this.rules)
        : createSharedRateLimitPolicy(this.rules, ownerClient)
    this.meter =
      ownerClient === null
        ? createTokenLimitPolicy(this.rules)
        : createSharedTokenLimitPolicy(this.rules, ownerClient)
    this.sent = sent
    this.leave = leave
    limits.retain(this.names)
  }

  get names(): ReadonlyMap<RateLimitRule, string> {
    return new Map(this.rules.map((rule) => [rule, rule.config.name]))
  }

  /** What the client gets: the status, and limit, remaining and reset. */
  async ask(...fields: string[]): Promise<string> {
    const exchange = exchangeWith(...fields)
    const reply = await soon(Promise.resolve(this.policy.request!(exchange)))
    const head = reply?.head ?? buildResponseHead(200, [])
    this.policy.response!(exchange, head)
    const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after']
    return [head.status, ...names.map((name) => head.get(name))].join(' ')
  }

  /** The charge, or null for a refusal. */
  async admit(estimate: TokenEstimate, exchange = exchangeWith()): Promise<Charge | null> {
    const reply = await soon(Promise.resolve(this.meter.admit(exchange, estimate)))
    if (reply !== undefined) return null
    return {
      raise: (more) => exchange.enforcement.charges.forEach((charge) => charge.raise(more)),
      settle: (cost) => exchange.enforcement.charges.forEach((charge) => charge.settle(cost)),
    }
  }

  async left(): Promise<number[]> {
    await turn()
    await soon(this.limits.refreshStatus())
    return this.limits.status().map(({ shared }) => shared.remaining)
  }
}

function exchangeWith(...fields: string[]): Exchange {
  return exchangeOf(requestOf('GET / HTTP/1.1', 'Host: h', ...fields))
}

function tokens(
  input: number,
  output: number,
): { input: number; output: number; basis: 'counted' } {
  return { input, output, basis: 'counted' }
}

/** The messages of this turn are sent. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function failureOf(work: Promise<unknown>): Promise<{ code?: string }> {
  try {
    await soon(work)
  } catch (error) {
    return error as { code?: string }
  }
  throw new Error('it did not fail')
}

test('a limit is the same for any number of workers', async () => {
  const stage = new Stage('requests: 60, unit: Minutes')
  const workers = [stage.worker(), stage.worker()]
  const requests = Array.from({ length: 100 }, (_, at) => workers[at % 2]!.ask())
  const answers = await soon(Promise.all(requests))
  assert.is(answers.filter((answer) => answer.startsWith('200')).length, 60)
  assert.is(answers.filter((answer) => answer.startsWith('429')).length, 40)
  const decisions = workers.flatMap(({ limits }) => limits.decisions.map(([, counts]) => counts))
  assert.is(decisions[0]!.allow + decisions[1]!.allow, 60)
  assert.is(decisions[0]!.deny + decisions[1]!.deny, 40)
})

test('operations of one turn are sent in one message', async () => {
  const stage = new Stage('requests: 60, unit: Minutes')
  const worker = stage.worker()
  const before = worker.sent.length
  await soon(Promise.all(Array.from({ length: 40 }, () => worker.ask())))
  assert.is(worker.sent.length - before, 1)
  await soon(Promise.all(Array.from({ length: 100 }, () => worker.ask())))
  assert.is(worker.sent.length - before, 3)
})

test('a worker answers requests exactly as a single process does', async () => {
  const rules = [
    'requests: 7, unit: Seconds',
    `requests: 3, unit: Minutes, ${KEYED}`,
    'requests: 40, unit: Minutes, burst: 5',
  ]
  const stage = new Stage(...rules)
  const workers = [stage.worker(), stage.worker()]
  const alone = stage.alone()
  const seen = new Set<string>()
  for (let at = 0; at < 300; at++) {
    stage.time += (at * 7919) % 397
    const user = (at * 31) % 11
    const fields = user === 0 ? [] : [`x-user: ${'u'.repeat(user * 20)}`]
    const answer = await workers[at % 2]!.ask(...fields)
    assert.is(answer, await alone.ask(...fields), `request ${at}`)
    seen.add(answer.slice(0, 3))
  }
  assert.is(seen.size, 2, 'some pass, and some do not')
  const [one, other] = workers.map(({ limits }) => limits.decisions.map(([, counts]) => counts))
  const sums = one!.map(({ allow, deny }, at) => [
    allow + other![at]!.allow,
    deny + other![at]!.deny,
  ])
  assert.equal(
    sums,
    alone.limits.decisions.map(([, { allow, deny }]) => [allow, deny]),
  )
  await workers[0]!.limits.refreshStatus()
  const shown = ({ limits }: Worker): unknown =>
    limits.status().map(({ keys, shared, tightest }) => ({ keys, shared, tightest }))
  assert.equal(shown(workers[0]!), shown(alone))
})

test('tokens are taken, raised, settled and returned as in a single process', async () => {
  const stage = new Stage('tokens: 500, unit: Seconds', 'tokens: 3000, unit: Minutes')
  const workers = [stage.worker(), stage.worker()]
  const alone = stage.alone()
  const open: [Charge, Charge][] = []
  let refused = 0
  for (let at = 0; at < 400; at++) {
    stage.time += (at * 7919) % 97
    const estimate = { model: `m${at % 5}`, input: (at * 13) % 60, output: at % 9, maxOutput: 50 }
    const charges = [await workers[at % 2]!.admit(estimate), await alone.admit(estimate)] as const
    assert.is(charges[0] === null, charges[1] === null, `request ${at}`)
    if (charges[0] === null || charges[1] === null) refused++
    else open.push([charges[0], charges[1]])
    if (at % 3 === 0)
      for (const one of open[0] ?? []) one.raise({ ...estimate, input: 60 + (at % 17) })
    // Messages of two workers have no order, and what one settles changes what the other is charged.
    for (const worker of workers) await worker.left()
    if (at % 2 === 0)
      for (const one of open.splice((at * 5) % 7, 1).flat())
        one.settle(tokens((at * 3) % 41, (at * 11) % 67))
    const left = alone.rules.map((rule) => rule.shared.remaining(stage.time))
    assert.equal(await workers[0]!.left(), left, `after ${at}`)
  }
  assert.ok(refused > 20 && refused < 380)
})

test('tokens that a request returns do not count in a later window', async () => {
  const stage = new Stage('tokens: 100, unit: Seconds')
  const worker = stage.worker()
  const charge = await worker.admit(estimateFor(80))
  stage.time = 1_000
  assert.ok(await worker.admit(estimateFor(60)))
  charge!.settle(NO_COST)
  assert.equal(await worker.left(), [40])
})

test('tokens of a worker that dies stay taken, and its limits are kept', async () => {
  const stage = new Stage('tokens: 100, unit: Minutes')
  const [one, other] = [stage.worker(), stage.worker()]
  assert.ok(await one.admit(estimateFor(70)))
  one.leave()
  assert.equal(await other.left(), [30])
  other.leave()
  const next = stage.worker()
  assert.equal(await next.left(), [30], 'also when all die at once')
  stage.time = 60_000
  assert.equal(await next.left(), [100])
})

test('a limit that no worker has is deleted', async () => {
  const [old, changed] = [['requests: 5, unit: Minutes'], ['requests: 6, unit: Minutes']]
  const stage = new Stage(...old)
  const [one, other] = [stage.worker(), stage.worker()]
  await one.ask()
  const next = stage.worker(changed)
  assert.is((await next.ask()).slice(0, 7), '200 6 5')
  assert.equal(stage.owner.counts, { rules: 2, buckets: 2, evicted: 0 })
  one.leave()
  assert.is((await other.ask()).slice(0, 7), '200 5 3')
  other.leave()
  assert.equal(stage.owner.counts, { rules: 1, buckets: 1, evicted: 0 })
  assert.is((await stage.worker().ask()).slice(0, 7), '200 5 4')
})

test('the owner keeps as many keys as maxKeys allows, also after a change', async () => {
  const stage = new Stage(`requests: 5, unit: Minutes, ${KEYED}`)
  stage.owner.maxKeys = 2
  const [one, other] = [stage.worker(), stage.worker()]
  for (const user of ['a', 'b', 'c']) await one.ask(`x-user: ${user}`)
  assert.equal(stage.owner.counts, { rules: 1, buckets: 3, evicted: 1 })
  stage.owner.maxKeys = 3
  for (const user of ['d', 'b']) await other.ask(`x-user: ${user}`)
  assert.equal(stage.owner.counts, { rules: 1, buckets: 4, evicted: 1 })
})

test('keys have buckets in the owner only', async () => {
  const stage = new Stage(`requests: 5, unit: Minutes, ${KEYED}`)
  const [one, other] = [stage.worker(), stage.worker()]
  await one.ask('x-user: a')
  await other.ask('x-user: b')
  assert.equal(stage.owner.counts, { rules: 1, buckets: 3, evicted: 0 })
  assert.equal(one.limits.counts, { rules: 1, buckets: 0, evicted: 0 })
  await soon(other.limits.refreshStatus())
  const [status] = other.limits.status()
  assert.is(status!.keys, 2)
  assert.equal(
    status!.tightest.map(({ remaining }) => remaining),
    [4, 4],
  )
})

test('a client that leaves while the owner decides is charged nothing', async () => {
  const stage = new Stage('tokens: 100, unit: Minutes')
  const worker = stage.worker()
  const exchange = exchangeWith()
  const admitted = worker.admit(estimateFor(50), exchange)
  exchange.phase = 'settled'
  await admitted
  assert.equal(await worker.left(), [100])
})

test('a cost that is known only after the response is charged', async () => {
  const stage = new Stage('tokens: 100, unit: Minutes')
  const worker = stage.worker()
  const exchange = exchangeWith()
  exchange.phase = 'relay'
  const charge = await worker.admit(estimateFor(0), exchange)
  charge!.settle(tokens(10, 20))
  assert.equal(await worker.left(), [70])
})

test('every request fails when the owner is gone', async () => {
  const { here } = linkPair()
  const worker = new Worker(
    new LimitRegistry(() => 0, new LimitOwnerClient(here)),
    ['requests: 5, unit: Minutes', 'tokens: 5, unit: Minutes'],
    { sent: [], leave() {} },
  )
  here.close()
  assert.is((await failureOf(worker.ask())).code, 'LIMITS_UNAVAILABLE')
  assert.is((await failureOf(worker.admit(estimateFor(1)))).code, 'LIMITS_UNAVAILABLE')
  const failed = worker.limits.decisions.map(([, counts]) => counts.failed)
  assert.equal(failed, [1, 1])
})

test('while the owner is silent, one request probes for all until it answers again', async () => {
  const { here, there, said: sent } = linkPair()
  const limits = new LimitRegistry(() => 0, new LimitOwnerClient(here))
  const worker = new Worker(limits, ['requests: 5, unit: Minutes'], { sent, leave() {} })
  const refusals: (() => void)[] = []
  there.on(ASK_LIMITS, () => new Promise((_, reject) => refusals.push(() => reject(new Error()))))
  const first = failureOf(worker.ask())
  await turn()
  refusals[1]!()
  assert.is((await first).code, 'LIMITS_UNAVAILABLE')
  const tries = [worker.ask(), worker.ask(), worker.ask()].map(failureOf)
  await soon(Promise.all(tries.slice(1)))
  await turn()
  const { body } = sent.at(-1) as { body: LimitBatch }
  assert.is(refusals.length, 3)
  assert.is(body.steps.length, 1, 'one has tried')
  new LimitOwner(() => 0).workerStarted({ slot: 1, epoch: 1 }, there)
  refusals[2]!()
  await tries[0]
  worker.limits.retain(new Map())
  worker.limits.retain(worker.names)
  assert.ok((await worker.ask()).startsWith('200'))
  const answers = await soon(Promise.all([worker.ask(), worker.ask()]))
  assert.ok(answers.every((answer) => answer.startsWith('200')))
})

test.run()
