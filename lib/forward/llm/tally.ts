// Follows an answer to its end and tells what it cost: to the limits, the log and whoever reads `llm`.

import { NO_COST } from '../../base/cost.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { LlmFacts } from '../../base/cel/facts.ts'
import type { Meter, Outcome, Tap } from '../../base/types.ts'
import { chargeLate } from './late-charge.ts'
import { costOf, llmFactsOf } from './usage/normalise.ts'
import type { Seen } from './types.ts'
import type { Watch } from './watch/watch.ts'

export interface Watched {
  readonly watch: Watch
  readonly facts: LlmFacts
  /** Only streams of events have a last one. */
  readonly kind: 'events' | 'other'
  /** Tokens of the prompt, in case nobody counts them; null if it is none, and costs only what the answer says. */
  readonly input: () => number | null
  /** Asked only if it costs anything; null for what was admitted. */
  readonly late: Meter | null
}

export class Tally implements Tap {
  readonly #exchange: Exchange
  readonly #watch: Watch
  readonly #watched: Watched
  #outcome: Outcome = 'complete'

  constructor(exchange: Exchange, watched: Watched) {
    this.#exchange = exchange
    this.#watch = watched.watch
    this.#watched = watched
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#watch.chunk(bytes, from, to)
  }

  end(outcome: Outcome): void {
    this.#outcome = outcome
    this.#watch.end(outcome)
    let state: 'counting' | 'counted' = 'counting'
    this.#watch.whenDone(() => {
      state = 'counted'
      this.#settle()
    })
    // What is compressed is counted a moment later; the log line waits for it.
    if (state === 'counting') this.#exchange.counting = (done) => this.#watch.whenDone(done)
  }

  /** Before the client knows of the end: its next request meets a budget that has this one in it. */
  #settle(): void {
    const exchange = this.#exchange
    const { seen } = this.#watch
    const { facts, kind, input, late } = this.#watched
    Object.assign(facts, llmFactsOf(seen))
    Object.assign(facts, timesOf(exchange.started, seen, facts.outputTokens ?? 0))
    const isShort = kind === 'events' && this.#outcome === 'complete' && seen.ending === 'missing'
    if (isShort) facts.ending = 'missing'
    const guess = input()
    const isNone = guess === null && seen.usage === null
    const cost = isNone ? NO_COST : costOf(seen, guess ?? 0)
    exchange.spent = cost
    exchange.trace?.emit({ type: 'llmUsage', usage: { ...cost, ...facts } })
    if (late !== null && cost.input + cost.output > 0) return chargeLate(late, exchange, cost)
    for (const charge of exchange.charges) charge.settle(cost)
  }
}

function timesOf(started: number, { firstAt, lastAt }: Seen, output: number): Partial<LlmFacts> {
  if (firstAt === 0) return {}
  const perToken = output > 1 ? { timePerOutputToken: seconds((lastAt - firstAt) / output) } : {}
  return { timeToFirstToken: seconds(firstAt - started), ...perToken }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(6)}s`
}
