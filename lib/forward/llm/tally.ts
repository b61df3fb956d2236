// Follows an answer to its end and tells what it cost: to the limits, the log and whoever reads `llm`.

import type { Exchange } from '../../base/exchange.ts'
import type { LlmFacts } from '../../base/cel/facts.ts'
import type { Outcome, Tap } from '../../base/types.ts'
import { costOf, llmFactsOf } from './usage/normalise.ts'
import type { Seen } from './types.ts'
import type { Watch } from './watch/watch.ts'

export class Tally implements Tap {
  readonly #exchange: Exchange
  readonly #watch: Watch
  readonly #facts: LlmFacts
  /** Tokens of the prompt, in case nobody counts them. */
  readonly #input: number

  constructor(exchange: Exchange, watch: Watch, facts: LlmFacts, input: number) {
    this.#exchange = exchange
    this.#watch = watch
    this.#facts = facts
    this.#input = input
  }

  chunk(bytes: Buffer, from: number, to: number): void {
    this.#watch.chunk(bytes, from, to)
  }

  end(outcome: Outcome): void {
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
    Object.assign(this.#facts, llmFactsOf(seen))
    Object.assign(this.#facts, timesOf(exchange.started, seen, this.#facts.outputTokens ?? 0))
    exchange.spent = costOf(seen, this.#input)
    exchange.trace?.emit({ type: 'llmUsage', usage: { ...exchange.spent, ...this.#facts } })
    for (const charge of exchange.charges) charge.settle(exchange.spent)
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
