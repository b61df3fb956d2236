// Providers asked in turn until one answers, as long as nothing has reached the client; then its answer is watched.

import type { LlmFacts } from '../../base/cel/facts.ts'
import type { LlmFormat } from '../../base/config/llm-types.ts'
import { NO_COST } from '../../base/cost.ts'
import { faultOf } from '../../base/errors.ts'
import type { GatewayError } from '../../base/errors.ts'
import type { Exchange } from '../../base/exchange.ts'
import { EMPTY_BODY } from '../../base/reply.ts'
import { isEventStream } from '../../base/sse/media-type.ts'
import { TappedBody } from '../../base/tapped-body.ts'
import type { Attempt, Body, Meter, Reply } from '../../base/types.ts'
import { wayBack } from '../retry.ts'
import type { Choice } from './catalogue.ts'
import { inputGuess } from './estimate.ts'
import { isAskedForUsage, isJsonFormat } from './formats.ts'
import type { FormatTable } from './formats.ts'
import { LeftCost } from './left-cost.ts'
import { essenceOf, isJsonType } from './media-type.ts'
import { namedInPath } from './model-place.ts'
import type { NamedModel, Place } from './model-place.ts'
import type { Prompt } from './prompt/prompt.ts'
import type { TryBody } from './prompt/try-body.ts'
import { targetOf } from './provider.ts'
import { retryAfterOf } from './retry-after.ts'
import { Tally } from './tally.ts'
import { TastedBody } from './tasted-body.ts'
import type { BodyEdits } from './types.ts'
import { UsageFilter } from './usage-filter.ts'
import { watchOf } from './watch/watch.ts'

/** Answers that another provider may do better than. */
const WORTH_ANOTHER: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** What an error says that is about the question for usage. */
const REFUSAL = /stream_options|include_usage/i

export interface Round {
  /** At least one. */
  readonly choices: readonly Choice[]
  readonly format: LlmFormat
  readonly formats: FormatTable
  /** Asked once an answer tells of a cost that nobody expected; null for what was admitted. */
  readonly late: Meter | null
  /** The model by the request's head; null where its body names it. */
  readonly named: NamedModel | null
  /** `plain`: not every request there is one to an LLM. */
  readonly host: 'provider' | 'plain'
  /** Whether providers are asked to count, on the client's behalf. */
  readonly usage: BodyEdits['usage']
  readonly prompt: Prompt
  readonly facts: LlmFacts
}

export class Turns implements Attempt {
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #round: Round
  readonly #asked: Place
  readonly #undo: () => void
  #at = 0
  #sent = 0
  /** Of the try under way. */
  #body: TryBody | null = null
  /** That the try asks for, if any. */
  #model: string | null = null
  /** `withheld`: sent once more without the question for usage, after a 400. */
  #question: 'asked' | 'withheld' = 'asked'

  constructor(exchange: Exchange, attempt: Attempt, round: Round) {
    this.#exchange = exchange
    this.#attempt = attempt
    this.#round = round
    const { path, query } = exchange.request
    this.#asked = { path, query }
    this.#undo = wayBack(exchange)
  }

  get body(): Body {
    return this.#body ?? EMPTY_BODY
  }

  get #choice(): Choice {
    return this.#round.choices[this.#at]!
  }

  /** Of what the provider is sent. */
  get #format(): LlmFormat {
    const { format, formats } = this.#round
    return formats.sent(this.#choice.candidate.entry.pathOverride, format)
  }

  next(): void {
    const { candidate, model } = this.#choice
    const { prompt, facts, format, named } = this.#round
    const exchange = this.#exchange
    const { request } = exchange
    if (this.#sent++ > 0) this.#undo()
    const place = named === null || model === null ? this.#asked : named.at(model)
    const wanted = model ?? named?.model ?? prompt.model
    this.#model = wanted
    request.target = targetOf(candidate.entry, { format, model: wanted, ...place })
    const body = prompt.bodyWith(this.#editsOf(this.#choice, request))
    this.#body = body
    // Nobody could take the extra chunk out of a compressed stream again.
    if (body.mayAsk) request.remove('accept-encoding')
    facts.provider = candidate.entry.name
    exchange.endpoint = candidate.backend.endpoint
    // From here on it may cost, whether anybody hears the answer or not.
    if (exchange.spent !== null) exchange.spent = new LeftCost(body, () => this.#input ?? 0)
    exchange.trace?.emit({ type: 'llmRouteResolved', provider: facts.provider, routeType: format })
    candidate.backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    if (WORTH_ANOTHER.has(head.status)) {
      candidate.health.failed(retryAfterOf(head))
      if (this.#another()) return reply.body.cancel()
    } else candidate.health.succeeded()
    if (head.status === 400 && this.#mayRefuseUsage(reply)) return this.#taste(reply)
    this.#relay(reply)
  }

  #relay(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    // Only now it is certain whose fault the first 400 was.
    if (this.#question === 'withheld' && head.status < 300) candidate.refusals.learn(this.#model)
    if (head.status < 200 || head.status > 299) this.#costsNothing()
    else if (reply.tunnel === null) return this.#attempt.answer(this.#watched(reply))
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    if (error.source === 'backend') {
      this.#choice.candidate.health.failed(0)
      if (this.#another()) return
    }
    // One that is late may be at work all the same.
    if (error.code !== 'BACKEND_TIMEOUT') this.#costsNothing()
    this.#attempt.fail(error)
  }

  /** A provider that does not know the field says 400, and what it does not know. */
  #mayRefuseUsage({ head, body }: Reply): boolean {
    if (this.#body?.isAsking !== true || !this.#round.prompt.isReplayable) return false
    const type = essenceOf(head.get('content-type') ?? '')
    const isText = type === '' || type.startsWith('text/') || isJsonType(type)
    return isText && body.framing !== 'none' && !head.has('content-encoding')
  }

  /** It is asked once more without, if that was the reason; and if that helps, never again with it for this model. */
  #taste({ head, body, tunnel }: Reply): void {
    const exchange = this.#exchange
    const { call } = exchange
    const tasted = new TastedBody(body)
    const cancel = (): void => {
      tasted.drop()
      call?.cancel()
    }
    exchange.call = { cancel }
    tasted.taste((beginning) => {
      if (exchange.isAnswered) return tasted.cancel()
      exchange.call = call
      try {
        if (REFUSAL.test(beginning) && this.#withoutUsage()) return tasted.cancel()
        if (tasted.framing === 'open') head.remove('transfer-encoding')
        this.#relay({ head, body: tasted, tunnel })
      } catch (error) {
        exchange.fail(faultOf(error))
      }
    })
  }

  #withoutUsage(): boolean {
    if (!this.#round.prompt.isReplayable) return false
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
    exchange.retries++
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

  /** What the prompt is taken for if nobody counts it; null for what neither asks for a model nor where LLMs are. */
  get #input(): number | null {
    const { format, prompt, named, host } = this.#round
    const isPrompt =
      host === 'provider' || isJsonFormat(format) || named !== null || prompt.model !== null
    return isPrompt ? inputGuess(prompt) : null
  }

  #costsNothing(): void {
    if (this.#exchange.spent !== null) this.#exchange.spent = NO_COST
  }

  #watched({ head, body, tunnel }: Reply): Reply {
    const { facts, late } = this.#round
    const sent = this.#body
    if (body.framing === 'none') {
      this.#costsNothing()
      return { head, body, tunnel }
    }
    const watch = watchOf(this.#format, head)
    const isEvents = isEventStream(head.get('content-type'))
    const kind = isEvents ? 'events' : 'other'
    const input = (): number | null => this.#input
    const tally = new Tally(this.#exchange, { watch, facts, kind, input, late })
    const tapped = new TappedBody(body, tally)
    // The head may come before the request has said whether it streams.
    const isFiltered = sent?.mayAsk === true && isEvents && !head.has('content-encoding')
    if (!isFiltered) return { head, body: tapped, tunnel }
    head.remove('content-length')
    head.remove('transfer-encoding')
    return { head, body: new UsageFilter(tapped, () => sent.isAsking), tunnel }
  }

  #editsOf({ candidate, model }: Choice, sent: Place): BodyEdits {
    const { overrides, defaults } = candidate
    const { usage, named } = this.#round
    const isSpared = candidate.refusals.has(this.#model) || this.#question === 'withheld'
    const isAsked = usage === 'ask' && isAskedForUsage(this.#format) && !isSpared
    const asking = isAsked ? 'ask' : 'leave'
    // A path of the gateway's own may have lost the name.
    if (named === null || !isNamedIn(named, sent)) {
      const inBody = model ?? named?.model ?? null
      const set = inBody === null ? overrides : withModel(overrides, inBody)
      return { set, replace: NONE, defaults, usage: asking }
    }
    const replace = model === null ? NONE : withModel(NONE, named.inBody(model))
    return { set: overrides, replace, defaults, usage: asking }
  }
}

type Members = ReadonlyMap<string, string>

const NONE: Members = new Map()

function withModel(members: Members, model: string): Members {
  return new Map(members).set('model', JSON.stringify(model))
}

function isNamedIn({ where }: NamedModel, place: Place): boolean {
  return where === 'query' || namedInPath(place) !== null
}
