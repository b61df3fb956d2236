// Calls providers one after the other until one answers, as long as no byte has reached the client, and reads the usage of the
// response. Also estimates what a request costs.

import type { LlmFormat } from '../../config/backend-types.ts'
import { toGatewayError } from '../../core/errors.ts'
import type { GatewayError } from '../../core/errors.ts'
import { NO_COST } from '../../core/exchange.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { LlmFacts } from '../../core/facts.ts'
import type { RequestHead, ResponseHead } from '../../core/head.ts'
import { EMPTY_BODY } from '../../core/replies.ts'
import type { Attempt, Body, Reply, TokenCost, TokenEstimate } from '../../core/types.ts'
import { TappedBody } from '../../http/tapped-body.ts'
import { isEventStream } from '../../text/sse-reader.ts'
import { createBackendTimeout } from '../http/backend-call.ts'
import { saveRequestState } from '../retry.ts'
import type { BodyEdits } from './llm-call-types.ts'
import { essenceOf, isJsonFormat, isJsonType, needsUsageOption } from './llm-formats.ts'
import type { ChargeBasis, FormatTable } from './llm-formats.ts'
import { findModelInPath } from './model-position.ts'
import type { ModelInHead, PathAndQuery } from './model-position.ts'
import { beginsWithOverload, hasFirstEvent, RETRYABLE_STATUSES } from './overload-errors.ts'
import type { StreamKind } from './overload-errors.ts'
import { PeekedBody } from './peeked-body.ts'
import type { AttemptBody } from './prompt/attempt-body.ts'
import type { PromptBody } from './prompt/prompt.ts'
import type { ProviderChoice } from './provider-catalogue.ts'
import { buildProviderTarget } from './provider.ts'
import { guessTokens } from './usage/extract-usage.ts'
import { decodeContent } from './usage/decoded-body.ts'
import { createResponseWatch, isUnspecificType } from './usage/response-watch.ts'
import { UsageFilter } from './usage/usage-filter.ts'
import { UsageSettlement } from './usage/usage-settlement.ts'
import { contentCodingOf, keepDecodableCodings } from './usage/watch-compressed.ts'

/** With a key of the gateway, the provider does not accept the key at all. */
const KEY_REFUSED = 401
/** With a key of the gateway, the provider does not have the model, or the key may not use it; other requests may succeed. */
const MODEL_REFUSALS: ReadonlySet<number> = new Set([403, 404])

/** Answers of a provider that does not know a member of the request. */
const UNKNOWN_MEMBER_STATUSES: ReadonlySet<number> = new Set([400, 422])

/** Found in the message of a provider that does not know `stream_options.include_usage`. */
const USAGE_REFUSAL_PATTERN = /stream_options|include_usage/i

export interface ProviderAttemptPlan {
  /** At least one. */
  readonly choices: readonly ProviderChoice[]
  readonly format: LlmFormat
  readonly formats: FormatTable
  /** The request passed as free; a cost that its response reports is charged late. */
  readonly mayChargeLate: boolean
  readonly chargeBasis: ChargeBasis
  /** The model of path or query; null where the body names it. */
  readonly modelInHead: ModelInHead | null
  /** `plain`: a host with other requests too, not only LLM requests. */
  readonly host: 'provider' | 'plain'
  /** Whether to ask providers for usage where the client does not. */
  readonly usage: BodyEdits['usage']
  readonly prompt: PromptBody
  readonly facts: LlmFacts
  /** Time to the response head in ms, after which the next provider is called; 0 for any time. */
  readonly firstByteTimeout: number
}

export class ProviderAttempts implements Attempt {
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #plan: ProviderAttemptPlan
  readonly #clientTarget: PathAndQuery
  readonly #restoreRequest: () => void
  #choiceIndex = 0
  #attemptCount = 0
  /** The body of the current attempt. */
  #body: AttemptBody | null = null
  /** The model of the current attempt; null if none is named. */
  #model: string | null = null
  /** `omitted`: sent again without `include_usage`, after a 400 or 422. */
  #usageOption: 'allowed' | 'omitted' = 'allowed'
  #timer: NodeJS.Timeout | null = null

  constructor(exchange: Exchange, attempt: Attempt, plan: ProviderAttemptPlan) {
    this.#exchange = exchange
    this.#attempt = attempt
    this.#plan = plan
    const { path, query } = exchange.request
    this.#clientTarget = { path, query }
    this.#restoreRequest = saveRequestState(exchange)
    const { forwarding } = exchange
    const { releaseResources } = forwarding
    forwarding.releaseResources = () => {
      this.#stopTimer()
      releaseResources?.()
    }
  }

  get body(): Body {
    return this.#body ?? EMPTY_BODY
  }

  get #choice(): ProviderChoice {
    return this.#plan.choices[this.#choiceIndex]!
  }

  /** The format of the request to the provider. */
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
    const target =
      modelInHead === null || model === null ? this.#clientTarget : modelInHead.withModel(model)
    this.#model = model ?? modelInHead?.model ?? prompt.model
    request.target = buildProviderTarget(candidate.entry, {
      format,
      model: this.#model,
      ...target,
    })
    const body = prompt.createAttemptBody(this.#createEdits(this.#choice, request))
    this.#body = body
    limitCodings(request, body)
    facts.provider = candidate.entry.name
    exchange.forwarding.endpoint = candidate.backend.endpoint
    // From here the request may cost tokens, even if the client leaves before the response.
    if (exchange.forwarding.tokenCost !== null)
      exchange.forwarding.tokenCost = new AbandonedCost(body, () => this.#estimatedInput ?? 0)
    exchange.trace?.emit({ type: 'llmRouteResolved', provider: facts.provider, routeType: format })
    this.#startTimer()
    candidate.backend.call(exchange, this)
  }

  answer(reply: Reply): void {
    this.#stopTimer()
    const { head } = reply
    const { status } = head
    const { health, hasOwnKey } = this.#choice.candidate
    if ((hasOwnKey && status === KEY_REFUSED) || RETRYABLE_STATUSES.has(status)) {
      health.failed(parseRetryAfter(head))
      if (this.#selectNextChoice()) return reply.body.cancel()
    } else if (hasOwnKey && MODEL_REFUSALS.has(status)) {
      health.succeeded()
      if (this.#selectNextChoice()) return reply.body.cancel()
    } else {
      const kind = this.#hasNextChoice ? streamKindOf(reply) : null
      if (kind !== null) return this.#peekAtStream(reply, kind)
      health.succeeded()
    }
    if (UNKNOWN_MEMBER_STATUSES.has(status) && this.#mayRefuseUsage(reply))
      return this.#peekAtRefusal(reply)
    this.#relay(reply)
  }

  /** Only where another provider can be called: the last one may take its time. */
  #startTimer(): void {
    const { firstByteTimeout } = this.#plan
    if (firstByteTimeout > 0 && this.#choiceIndex + 1 < this.#plan.choices.length)
      this.#timer = setTimeout(() => this.#onFirstByteTimeout(), firstByteTimeout)
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #onFirstByteTimeout(): void {
    const exchange = this.#exchange
    // A provider cannot answer before the client has sent the whole request.
    if (!this.#plan.prompt.isWhole) return this.#startTimer()
    if (exchange.isAnswered || !this.#hasNextChoice) return
    const call = exchange.pendingCall
    this.fail(createBackendTimeout())
    // After `fail`, which detaches the body of the request from this call.
    call?.cancel()
  }

  #relay(reply: Reply): void {
    const { head } = reply
    const { candidate } = this.#choice
    // The second call succeeded, so `include_usage` was the reason for the refusal.
    if (this.#usageOption === 'omitted' && head.status < 300)
      candidate.usageRefusals.add(this.#model)
    if (head.status < 200 || head.status > 299) this.#settleAtZero()
    else if (reply.tunnel === null) return this.#attempt.answer(this.#watchUsage(reply))
    this.#attempt.answer(reply)
  }

  fail(error: GatewayError): void {
    this.#stopTimer()
    if (error.source === 'backend') {
      this.#choice.candidate.health.failed(0)
      if (this.#selectNextChoice()) return
    }
    // After a timeout the provider may still process the request, which then costs tokens.
    if (error.code !== 'BACKEND_TIMEOUT') this.#settleAtZero()
    this.#attempt.fail(error)
  }

  /** A provider that does not know `include_usage` answers 400 or 422 and names it in a text. */
  #mayRefuseUsage({ head, body }: Reply): boolean {
    if (this.#body?.asksForUsage !== true || !this.#plan.prompt.isReplayable) return false
    const type = essenceOf(head.get('content-type') ?? '')
    const isText = type === '' || type.startsWith('text/') || isJsonType(type)
    return isText && body.framing !== 'none' && !head.has('content-encoding')
  }

  /** Reads the message of a refusal. If it is about `include_usage`, the provider is called again without the option. */
  #peekAtRefusal(reply: Reply): void {
    this.#peekAt(reply, (beginning) => {
      if (!USAGE_REFUSAL_PATTERN.test(beginning) || !this.#plan.prompt.isReplayable) return 'relay'
      this.#usageOption = 'omitted'
      this.#retryLater()
      return 'drop'
    })
  }

  /** Reads the first event of a stream. If it is an overload error, or the stream is cut before it, it has failed. */
  #peekAtStream(reply: Reply, kind: StreamKind): void {
    const { health } = this.#choice.candidate
    const decide = (beginning: string, { isCut }: PeekedBody): 'relay' | 'drop' => {
      if (!isCut && !beginsWithOverload(beginning, kind)) {
        health.succeeded()
        return 'relay'
      }
      health.failed(0)
      return this.#selectNextChoice() ? 'drop' : 'relay'
    }
    this.#peekAt(reply, decide, (beginning) => hasFirstEvent(beginning, kind))
  }

  #peekAt(
    { head, body, tunnel }: Reply,
    decide: (beginning: string, peeked: PeekedBody) => 'relay' | 'drop',
    isEnough?: (beginning: string) => boolean,
  ): void {
    const exchange = this.#exchange
    const { pendingCall } = exchange
    const peeked = new PeekedBody(body)
    const cancel = (): void => {
      peeked.abandon()
      pendingCall?.cancel()
    }
    exchange.pendingCall = { cancel }
    peeked.peek((beginning) => {
      if (exchange.isAnswered) return peeked.cancel()
      exchange.pendingCall = pendingCall
      try {
        if (decide(beginning, peeked) === 'drop') return peeked.cancel()
        if (peeked.framing === 'open') head.remove('transfer-encoding')
        this.#relay({ head, body: peeked, tunnel })
      } catch (error) {
        exchange.fail(toGatewayError(error))
      }
    }, isEnough)
  }

  get #hasNextChoice(): boolean {
    const { choices, prompt } = this.#plan
    return this.#choiceIndex + 1 < choices.length && prompt.isReplayable
  }

  #selectNextChoice(): boolean {
    if (!this.#hasNextChoice) return false
    this.#choiceIndex++
    this.#usageOption = 'allowed'
    this.#retryLater()
    return true
  }

  /** In its own microtask: the connection that failed is still inside its event handler. */
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

  /** Estimated input tokens, for a provider that reports none; null if the request is no prompt. */
  get #estimatedInput(): number | null {
    const { format, prompt, modelInHead, host, chargeBasis } = this.#plan
    if (chargeBasis !== 'size') return null
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
    const type = head.get('content-type') ?? ''
    const isEvents = isEventStream(type)
    // The response may start before the `stream` member of the request has been read.
    const mayHaveExtraChunk =
      sent?.mayAskForUsage === true && (isEvents || isUnspecificType(essenceOf(type)))
    const content = mayHaveExtraChunk ? decodeContent(head, body) : body
    const watch = createResponseWatch(this.#format, head)
    const settlement = new UsageSettlement(this.#exchange, {
      watch,
      facts,
      kind: isEvents ? 'events' : 'other',
      guessInputTokens: () => this.#estimatedInput,
      mayChargeLate,
    })
    const tapped = new TappedBody(content, settlement)
    // Neither the gateway nor the client can read an unknown coding.
    if (!mayHaveExtraChunk || contentCodingOf(head) !== 'identity')
      return { head, body: tapped, tunnel }
    head.remove('content-length')
    head.remove('transfer-encoding')
    return { head, body: new UsageFilter(tapped, () => sent.asksForUsage), tunnel }
  }

  #createEdits({ candidate, model }: ProviderChoice, target: PathAndQuery): BodyEdits {
    const { overrides, defaults } = candidate
    const { modelInHead } = this.#plan
    const isRefused = candidate.usageRefusals.has(this.#model) || this.#usageOption === 'omitted'
    // A long request could not be sent again if the provider refused the option.
    const isRisky = this.#plan.usage === 'askIfPossible' && !this.#plan.prompt.staysReplayable
    const isUsageAsked = needsUsageOption(this.#format) && !isRefused && !isRisky
    const usage = isUsageAsked ? this.#plan.usage : 'leave'
    // A configured path may not contain the model any more.
    if (modelInHead === null || !isModelNamedIn(modelInHead, target)) {
      const bodyModel = model ?? modelInHead?.model ?? null
      const set = bodyModel === null ? overrides : setModelMember(overrides, bodyModel)
      return { set, replace: NO_MEMBERS, defaults, usage }
    }
    const replace =
      model === null ? NO_MEMBERS : setModelMember(NO_MEMBERS, modelInHead.bodyNameOf(model))
    return { set: overrides, replace, defaults, usage }
  }
}

/** Asks only for codings in which the usage can be read, and for none where a usage chunk has to be removed. */
function limitCodings(request: RequestHead, body: AttemptBody): void {
  const accepted = request.getAll('accept-encoding').join(', ')
  if (accepted === '') return
  const kept = body.mayAskForUsage ? '' : keepDecodableCodings(accepted)
  if (kept === '') request.remove('accept-encoding')
  else if (kept !== accepted) request.set('accept-encoding', kept)
}

/** The kind of a stream whose first event can be read; null for other responses. */
function streamKindOf({ head, body, tunnel }: Reply): StreamKind | null {
  if (head.status < 200 || head.status > 299 || tunnel !== null) return null
  if (body.framing === 'none' || head.has('content-encoding')) return null
  const type = head.get('content-type')
  if (isEventStream(type)) return 'events'
  return essenceOf(type ?? '') === 'application/vnd.amazon.eventstream' ? 'frames' : null
}

type BodyMembers = ReadonlyMap<string, string>

const NO_MEMBERS: BodyMembers = new Map()

function setModelMember(members: BodyMembers, model: string): BodyMembers {
  return new Map(members).set('model', JSON.stringify(model))
}

function isModelNamedIn({ where }: ModelInHead, target: PathAndQuery): boolean {
  return where === 'query' || findModelInPath(target) !== null
}

/** The cost of a request whose client left before the response, computed when the exchange is settled. */
class AbandonedCost implements TokenCost {
  readonly output = 0
  readonly #body: AttemptBody
  readonly #estimateInput: () => number

  constructor(body: AttemptBody, estimateInput: () => number) {
    this.#body = body
    this.#estimateInput = estimateInput
  }

  /** 0 while the provider does not have the whole request and has not started. */
  get input(): number {
    return this.#body.isSent ? this.#estimateInput() : 0
  }

  get basis(): TokenCost['basis'] {
    return this.input > 0 ? 'estimated' : 'counted'
  }
}

/** Milliseconds, from `retry-after-ms` or either form of `retry-after`; 0 if there is none. */
function parseRetryAfter(head: ResponseHead, now = Date.now()): number {
  const ms = Number(head.get('retry-after-ms') ?? NaN)
  if (ms >= 0) return ms
  const text = head.get('retry-after')
  if (text === undefined) return 0
  const seconds = Number(text)
  if (seconds >= 0) return seconds * 1000
  return Math.max(0, Date.parse(text) - now) || 0
}

// Estimates of what a request will cost are charged in advance, so that parallel requests cannot all use the last token.

/** Above this, most of a body is likely data that costs far less than its bytes. */
const MAX_INPUT_ESTIMATE = 32_768

/** Few responses come near `max_tokens`: an eighth of it is charged in advance. */
const OUTPUT_SHARE = 8
const MAX_OUTPUT_ESTIMATE = 4_096

/** The estimate of a request for this model, from what is known of its body. */
export function estimateCost(
  { textSize, maxTokens }: Pick<PromptBody, 'textSize' | 'maxTokens'>,
  model: string | null,
): TokenEstimate {
  return {
    model,
    input: estimateInput(textSize),
    output: estimateOutput(maxTokens),
    maxOutput: maxTokens,
  }
}

function estimateInput(bytes: number): number {
  return Math.min(guessTokens(bytes), MAX_INPUT_ESTIMATE)
}

/** The estimate at the end of a request, from the bytes received; a body that could be read has no upper bound. */
function guessInput({ isOpaque, receivedText }: PromptBody): number {
  return isOpaque ? estimateInput(receivedText) : guessTokens(receivedText)
}

function estimateOutput(maxTokens: number | null): number {
  return Math.min(Math.ceil((maxTokens ?? 0) / OUTPUT_SHARE), MAX_OUTPUT_ESTIMATE)
}
