// Providers asked in turn until one answers, as long as nothing has reached the client; then its answer is watched.

import type { LlmFormat } from '../../config/backend-types.ts'
import { toGatewayError } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'
import { NO_COST } from '../../core/exchange.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { LlmFacts } from '../../core/facts.ts'
import type { ResponseHead } from '../../core/head.ts'
import { EMPTY_BODY } from '../../core/replies.ts'
import type { Attempt, Body, Reply, TokenCost } from '../../core/types.ts'
import { TappedBody } from '../../http/tapped-body.ts'
import { isEventStream } from '../../text/sse-reader.ts'
import { restoreRequest } from '../retry.ts'
import type { BodyEdits, PromptFacts } from './llm-call-types.ts'
import { essenceOf, isJsonFormat, isJsonType, needsUsageOption } from './llm-formats.ts'
import type { FormatTable } from './llm-formats.ts'
import { findModelInPath } from './model-position.ts'
import type { ModelInHead, PathAndQuery } from './model-position.ts'
import { PeekedBody } from './peeked-body.ts'
import type { AttemptBody } from './prompt/attempt-body.ts'
import type { PromptBody } from './prompt/prompt.ts'
import type { ProviderChoice } from './provider-catalogue.ts'
import { buildProviderTarget } from './provider.ts'
import { guessTokens } from './usage/extract-usage.ts'
import { createResponseWatch } from './usage/response-watch.ts'
import { UsageFilter } from './usage/usage-filter.ts'
import { UsageSettlement } from './usage/usage-settlement.ts'

/** Answers that another provider may do better than. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** What an error says that is about the question for usage. */
const USAGE_REFUSAL_PATTERN = /stream_options|include_usage/i

export interface ProviderAttemptPlan {
  /** At least one. */
  readonly choices: readonly ProviderChoice[]
  readonly format: LlmFormat
  readonly formats: FormatTable
  /** Asked once an answer tells of a cost that nobody expected; null for what was admitted. */
  readonly mayChargeLate: boolean
  /** The model by the request's head; null where its body names it. */
  readonly modelInHead: ModelInHead | null
  /** `plain`: not every request there is one to an LLM. */
  readonly host: 'provider' | 'plain'
  /** Whether providers are asked to count, on the client's behalf. */
  readonly usage: BodyEdits['usage']
  readonly prompt: PromptBody
  readonly facts: LlmFacts
}

export class ProviderAttempts implements Attempt {
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #plan: ProviderAttemptPlan
  readonly #clientTarget: PathAndQuery
  readonly #restoreRequest: () => void
  #choiceIndex = 0
  #attemptCount = 0
  /** Of the try under way. */
  #body: AttemptBody | null = null
  /** That the try asks for, if any. */
  #model: string | null = null
  /** `withheld`: sent once more without the question for usage, after a 400. */
  #usageOption: 'asked' | 'withheld' = 'asked'

  constructor(exchange: Exchange, attempt: Attempt, round: ProviderAttemptPlan) {
    this.#exchange = exchange
    this.#attempt = attempt
    this.#plan = round
    const { path, query } = exchange.request
    this.#clientTarget = { path, query }
    this.#restoreRequest = restoreRequest(exchange)
  }

  get body(): Body {
    return this.#body ?? EMPTY_BODY
  }

  get #choice(): ProviderChoice {
    return this.#plan.choices[this.#choiceIndex]!
  }

  /** Of what the provider is sent. */
  get #format(): LlmFormat {
    const { format, formats } = this.#plan
    return formats.formatSentTo(this.#choice.candidate.entry.pathOverride, format)
  }

  callNextProvider(): void {
    const { candidate, model } = this.#choice
    const { prompt, facts, format, modelInHead } = this.#plan
    const exchange = this.#exchange
    const { request } = exchange
    if (this.#attemptCount++ > 0) this.#restoreRequest()
    const place =
      modelInHead === null || model === null ? this.#clientTarget : modelInHead.withModel(model)
    const wanted = model ?? modelInHead?.model ?? prompt.model
    this.#model = wanted
    request.target = buildProviderTarget(candidate.entry, { format, model: wanted, ...place })
    const body = prompt.createAttemptBody(this.#editsOf(this.#choice, request))
    this.#body = body
    // Nobody could take the extra chunk out of a compressed stream again.
    if (body.mayAskForUsage) request.remove('accept-encoding')
    facts.provider = candidate.entry.name
    exchange.forwarding.endpoint = candidate.backend.endpoint
    // From here on it may cost, whether anybody hears the answer or not.
    if (exchange.forwarding.tokenCost !== null)
      exchange.forwarding.tokenCost = new AbandonedCost(body, () => this.#input ?? 0)
    exchange.trace?.emit({ type: 'llmRouteResolved', provider: facts.provider, routeType: format })
    candidate.backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    if (RETRYABLE_STATUSES.has(head.status)) {
      candidate.health.failed(parseRetryAfter(head))
      if (this.#selectNextChoice()) return reply.body.cancel()
    } else candidate.health.succeeded()
    if (head.status === 400 && this.#mayRefuseUsage(reply)) return this.#peekAtRefusal(reply)
    this.#relay(reply)
  }

  #relay(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    // Only now it is certain whose fault the first 400 was.
    if (this.#usageOption === 'withheld' && head.status < 300)
      candidate.usageRefusals.add(this.#model)
    if (head.status < 200 || head.status > 299) this.#settleAtZero()
    else if (reply.tunnel === null) return this.#attempt.answer(this.#watchUsage(reply))
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    if (error.source === 'backend') {
      this.#choice.candidate.health.failed(0)
      if (this.#selectNextChoice()) return
    }
    // One that is late may be at work all the same.
    if (error.code !== 'BACKEND_TIMEOUT') this.#settleAtZero()
    this.#attempt.fail(error)
  }

  /** A provider that does not know the field says 400, and what it does not know. */
  #mayRefuseUsage({ head, body }: Reply): boolean {
    if (this.#body?.asksForUsage !== true || !this.#plan.prompt.isReplayable) return false
    const type = essenceOf(head.get('content-type') ?? '')
    const isText = type === '' || type.startsWith('text/') || isJsonType(type)
    return isText && body.framing !== 'none' && !head.has('content-encoding')
  }

  /** It is asked once more without, if that was the reason; and if that helps, never again with it for this model. */
  #peekAtRefusal({ head, body, tunnel }: Reply): void {
    const exchange = this.#exchange
    const { pendingCall } = exchange
    const tasted = new PeekedBody(body)
    const cancel = (): void => {
      tasted.abandon()
      pendingCall?.cancel()
    }
    exchange.pendingCall = { cancel }
    tasted.peek((beginning) => {
      if (exchange.isAnswered) return tasted.cancel()
      exchange.pendingCall = pendingCall
      try {
        if (USAGE_REFUSAL_PATTERN.test(beginning) && this.#retryWithoutUsage())
          return tasted.cancel()
        if (tasted.framing === 'open') head.remove('transfer-encoding')
        this.#relay({ head, body: tasted, tunnel })
      } catch (error) {
        exchange.fail(toGatewayError(error))
      }
    })
  }

  #retryWithoutUsage(): boolean {
    if (!this.#plan.prompt.isReplayable) return false
    this.#usageOption = 'withheld'
    this.#retryLater()
    return true
  }

  #selectNextChoice(): boolean {
    const { choices, prompt } = this.#plan
    if (this.#choiceIndex + 1 >= choices.length || !prompt.isReplayable) return false
    this.#choiceIndex++
    this.#usageOption = 'asked'
    this.#retryLater()
    return true
  }

  /** In a tick of its own: the connection that failed is still in the middle of telling. */
  #retryLater(): void {
    const exchange = this.#exchange
    exchange.forwarding.retries++
    this.#plan.prompt.endAttempt()
    let state: 'waiting' | 'over' = 'waiting'
    exchange.pendingCall = { cancel: () => (state = 'over') }
    queueMicrotask(() => {
      if (state === 'over' || exchange.isAnswered) return
      try {
        this.callNextProvider()
      } catch (error) {
        this.#settleAtZero()
        exchange.fail(toGatewayError(error))
      }
    })
  }

  /** What the prompt is taken for if nobody counts it; null for what neither asks for a model nor where LLMs are. */
  get #input(): number | null {
    const { format, prompt, modelInHead, host } = this.#plan
    const isPrompt =
      host === 'provider' || isJsonFormat(format) || modelInHead !== null || prompt.model !== null
    return isPrompt ? guessInput(prompt) : null
  }

  #settleAtZero(): void {
    if (this.#exchange.forwarding.tokenCost !== null) this.#exchange.forwarding.tokenCost = NO_COST
  }

  #watchUsage({ head, body, tunnel }: Reply): Reply {
    const { facts, mayChargeLate } = this.#plan
    const sent = this.#body
    if (body.framing === 'none') {
      this.#settleAtZero()
      return { head, body, tunnel }
    }
    const watch = createResponseWatch(this.#format, head)
    const isEvents = isEventStream(head.get('content-type'))
    const kind = isEvents ? 'events' : 'other'
    const input = (): number | null => this.#input
    const tally = new UsageSettlement(this.#exchange, {
      watch,
      facts,
      kind,
      guessInputTokens: input,
      mayChargeLate,
    })
    const tapped = new TappedBody(body, tally)
    // The head may come before the request has said whether it streams.
    const isFiltered = sent?.mayAskForUsage === true && isEvents && !head.has('content-encoding')
    if (!isFiltered) return { head, body: tapped, tunnel }
    head.remove('content-length')
    head.remove('transfer-encoding')
    return { head, body: new UsageFilter(tapped, () => sent.asksForUsage), tunnel }
  }

  #editsOf({ candidate, model }: ProviderChoice, sent: PathAndQuery): BodyEdits {
    const { overrides, defaults } = candidate
    const { usage, modelInHead } = this.#plan
    const isSpared = candidate.usageRefusals.has(this.#model) || this.#usageOption === 'withheld'
    const isAsked = usage === 'ask' && needsUsageOption(this.#format) && !isSpared
    const asking = isAsked ? 'ask' : 'leave'
    // A path of the gateway's own may have lost the name.
    if (modelInHead === null || !isModelNamedIn(modelInHead, sent)) {
      const inBody = model ?? modelInHead?.model ?? null
      const set = inBody === null ? overrides : setModelMember(overrides, inBody)
      return { set, replace: NONE, defaults, usage: asking }
    }
    const replace = model === null ? NONE : setModelMember(NONE, modelInHead.bodyNameOf(model))
    return { set: overrides, replace, defaults, usage: asking }
  }
}

type BodyMembers = ReadonlyMap<string, string>

const NONE: BodyMembers = new Map()

function setModelMember(members: BodyMembers, model: string): BodyMembers {
  return new Map(members).set('model', JSON.stringify(model))
}

function isModelNamedIn({ where }: ModelInHead, place: PathAndQuery): boolean {
  return where === 'query' || findModelInPath(place) !== null
}

// What a request costs whose answer nobody stayed to hear, told by what has become of it when it is settled.

class AbandonedCost implements TokenCost {
  readonly output = 0
  readonly #body: AttemptBody
  readonly #prompt: () => number

  /** `prompt`: what it is taken for, by what has come of it. */
  constructor(body: AttemptBody, prompt: () => number) {
    this.#body = body
    this.#prompt = prompt
  }

  /** A provider that never had all of it has not begun. */
  get input(): number {
    return this.#body.isSent ? this.#prompt() : 0
  }

  get basis(): TokenCost['basis'] {
    return this.input > 0 ? 'estimated' : 'counted'
  }
}

// How long a provider wants to be left alone.

/** Milliseconds, by any of the ways providers say it; 0 when it says nothing. */
function parseRetryAfter(head: ResponseHead, now = Date.now()): number {
  const ms = Number(head.get('retry-after-ms') ?? NaN)
  if (ms >= 0) return ms
  const text = head.get('retry-after')
  if (text === undefined) return 0
  const seconds = Number(text)
  if (seconds >= 0) return seconds * 1000
  return Math.max(0, Date.parse(text) - now) || 0
}

// What a request will cost, guessed before anybody has counted: so that many at once cannot all pass the last token.

/** Above this most of a body is likely no text but an image, which costs far less than its bytes. */
const MAX_INPUT_ESTIMATE = 32_768

/** `max_tokens` is a bound few answers come near. */
const OUTPUT_SHARE = 8
const MAX_OUTPUT_ESTIMATE = 4_096

export function estimateInput(bytes: number): number {
  return Math.min(guessTokens(bytes), MAX_INPUT_ESTIMATE)
}

/** The same when all is over and nobody has counted: of what has come, and without a bound where it can be read. */
function guessInput({ isOpaque, received }: Pick<PromptBody, 'isOpaque' | 'received'>): number {
  return isOpaque ? estimateInput(received) : guessTokens(received)
}

export function estimateOutput({ maxTokens }: Pick<PromptFacts, 'maxTokens'>): number {
  return Math.min(Math.ceil((maxTokens ?? 0) / OUTPUT_SHARE), MAX_OUTPUT_ESTIMATE)
}
