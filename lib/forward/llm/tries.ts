// Providers asked in turn until one answers, as long as nothing has reached the client; then its answer is watched.

import type { LlmFacts } from '../../base/cel/facts.ts'
import type { LlmFormat } from '../../base/config/llm-types.ts'
import { isEventStream } from '../../base/event-stream.ts'
import { faultOf } from '../../base/errors.ts'
import type { GatewayError } from '../../base/errors.ts'
import type { Exchange } from '../../base/exchange.ts'
import { EMPTY_BODY } from '../../base/reply.ts'
import type { Attempt, Body, Reply } from '../../base/types.ts'
import { wayBack } from '../retry.ts'
import { TappedBody } from '../tapped-body.ts'
import type { Choice } from './catalogue.ts'
import { inputEstimate } from './estimate.ts'
import { isAskedForUsage, isJsonFormat } from './formats.ts'
import type { Prompt } from './prompt/prompt.ts'
import { targetOf } from './provider.ts'
import { retryAfterOf } from './retry-after.ts'
import { Tally } from './tally.ts'
import type { BodyEdits } from './types.ts'
import { UsageFilter } from './usage-filter.ts'
import { watchOf } from './watch/watch.ts'

/** Answers that another provider may do better than. */
const WORTH_ANOTHER: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

export interface Round {
  /** At least one. */
  readonly choices: readonly Choice[]
  readonly format: LlmFormat
  /** Whether providers are asked to count, on the client's behalf. */
  readonly usage: BodyEdits['usage']
  readonly prompt: Prompt
  readonly facts: LlmFacts
}

export class Tries implements Attempt {
  /** Of the try under way. */
  body: Body = EMPTY_BODY
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #round: Round
  readonly #path: string
  readonly #query: string
  readonly #undo: () => void
  #at = 0
  #sent = 0
  /** `withheld`: sent once more without the question for usage, after a 400. */
  #question: 'asked' | 'withheld' = 'asked'

  constructor(exchange: Exchange, attempt: Attempt, round: Round) {
    this.#exchange = exchange
    this.#attempt = attempt
    this.#round = round
    this.#path = exchange.request.path
    this.#query = exchange.request.query
    this.#undo = wayBack(exchange)
  }

  get #choice(): Choice {
    return this.#round.choices[this.#at]!
  }

  next(): void {
    const { candidate, model } = this.#choice
    const { prompt, facts, format } = this.#round
    const exchange = this.#exchange
    const { request } = exchange
    if (this.#sent++ > 0) this.#undo()
    request.target = targetOf(candidate.entry, {
      format,
      model: model ?? prompt.model,
      path: this.#path,
      query: this.#query,
    })
    this.body = prompt.bodyWith(this.#editsOf(this.#choice))
    // Nobody could take the extra chunk out of a compressed stream again.
    if (prompt.mayAsk) request.remove('accept-encoding')
    facts.provider = candidate.entry.name
    exchange.endpoint = candidate.backend.endpoint
    // From here on it may cost, whether anybody hears the answer or not.
    if (exchange.spent !== null)
      exchange.spent = { input: this.#input, output: 0, basis: 'estimated' }
    candidate.backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    if (WORTH_ANOTHER.has(head.status)) {
      candidate.health.failed(retryAfterOf(head))
      if (this.#another()) return reply.body.cancel()
    } else candidate.health.succeeded()
    if (head.status === 400 && this.#withoutUsage()) return reply.body.cancel()
    // Only now it is certain whose fault the first 400 was.
    if (this.#question === 'withheld' && head.status < 300) candidate.usage = 'refused'
    if (head.status < 200 || head.status > 299) this.#costsNothing()
    else if (reply.tunnel === null) return this.#attempt.answer(this.#watched(reply))
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    if (error.source === 'backend') {
      this.#choice.candidate.health.failed(0)
      if (this.#another()) return
    }
    this.#costsNothing()
    this.#attempt.fail(error)
  }

  /** A provider that does not know the field says 400; it is asked once more without, and if that helps, never again with it. */
  #withoutUsage(): boolean {
    const { candidate } = this.#choice
    const { prompt } = this.#round
    if (!prompt.isAsking || candidate.usage === 'accepted' || !prompt.isReplayable) return false
    this.#question = 'withheld'
    this.#again()
    return true
  }

  #another(): boolean {
    const { choices, prompt } = this.#round
    if (this.#at + 1 >= choices.length || !prompt.isReplayable) return false
    this.#at++
    this.#question = 'asked'
    this.#again()
    return true
  }

  /** In a tick of its own: the connection that failed is still in the middle of telling. */
  #again(): void {
    const exchange = this.#exchange
    this.#round.prompt.release()
    let state: 'waiting' | 'over' = 'waiting'
    exchange.call = { cancel: () => (state = 'over') }
    queueMicrotask(() => {
      if (state === 'over' || exchange.isAnswered) return
      try {
        this.next()
      } catch (error) {
        this.#costsNothing()
        exchange.fail(faultOf(error))
      }
    })
  }

  /** What the prompt is taken for if nobody counts it. What neither asks for a model nor where LLMs are is none. */
  get #input(): number {
    const { format, prompt } = this.#round
    return isJsonFormat(format) || prompt.model !== null ? inputEstimate(prompt.size) : 0
  }

  #costsNothing(): void {
    if (this.#exchange.spent !== null)
      this.#exchange.spent = { input: 0, output: 0, basis: 'counted' }
  }

  #watched({ head, body, tunnel }: Reply): Reply {
    const { format, facts, prompt } = this.#round
    const { candidate } = this.#choice
    const isAsked = prompt.isAsking
    if (isAsked) candidate.usage = 'accepted'
    if (body.framing === 'none') {
      this.#costsNothing()
      return { head, body, tunnel }
    }
    const watch = watchOf(format, head)
    const tally = new Tally(this.#exchange, watch, facts, this.#input)
    const tapped = new TappedBody(body, tally)
    const isFiltered =
      isAsked && isEventStream(head.get('content-type')) && !head.has('content-encoding')
    if (!isFiltered) return { head, body: tapped, tunnel }
    head.remove('content-length')
    head.remove('transfer-encoding')
    return { head, body: new UsageFilter(tapped), tunnel }
  }

  #editsOf({ candidate, model }: Choice): BodyEdits {
    const { overrides, defaults } = candidate
    const { usage, format } = this.#round
    const set =
      model === null ? overrides : new Map([...overrides, ['model', JSON.stringify(model)]])
    const isSpared = candidate.usage === 'refused' || this.#question === 'withheld'
    const isAsked = usage === 'ask' && isAskedForUsage(format) && !isSpared
    return { set, defaults, usage: isAsked ? 'ask' : 'leave' }
  }
}
