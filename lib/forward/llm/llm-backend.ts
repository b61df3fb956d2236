// A route's LLM backend: what a request asks for, by its path, and who may answer it.

import type { LlmFormat } from '../../config/backend-types.ts'
import { GatewayError, toGatewayError } from '../../core/errors.ts'
import { NO_COST } from '../../core/exchange.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { LlmFacts } from '../../core/facts.ts'
import type { RequestHead } from '../../core/head.ts'
import { buildReply } from '../../core/replies.ts'
import type {
  Attempt,
  Backend,
  Body,
  CancellableCall,
  ErrorFormat,
  Reply,
} from '../../core/types.ts'
import { send100Continue } from '../backend-attempt.ts'
import type { BodyEdits, PromptOwner } from './llm-call-types.ts'
import {
  dialectOf,
  isFreeOfCharge,
  isJsonFormat,
  isReadOnlyRequest,
  operationOf,
} from './llm-formats.ts'
import type { FormatTable } from './llm-formats.ts'
import { findModelInPath, findModelInQuery } from './model-position.ts'
import type { ModelInHead, ModelNaming } from './model-position.ts'
import { isCompressedRequest, PromptBody } from './prompt/prompt.ts'
import type { PromptOptions } from './prompt/prompt.ts'
import { estimateInput, estimateOutput, ProviderAttempts } from './provider-attempts.ts'
import { findBestModelName } from './provider-catalogue.ts'
import type { ProviderCatalogue, ProviderChoice } from './provider-catalogue.ts'
import { supportsFormat } from './provider.ts'

export interface LlmSettings {
  readonly formats: FormatTable
  readonly catalogue: ProviderCatalogue
  readonly limitsTokens: boolean
  readonly prompts: Omit<PromptOptions, 'types' | 'faults' | 'model'>
  /** `plain`: not every request there is one to an LLM. */
  readonly host: 'provider' | 'plain'
  /** Whether members of bodies are changed, but for the question for usage. */
  readonly edits: 'members' | 'nothing'
  /** Whether providers are asked to count, on behalf of clients that do not want to know. */
  readonly usage: BodyEdits['usage']
}

export class LlmBackend implements Backend {
  /** Until a provider is chosen. */
  readonly endpoint = ''
  readonly #settings: LlmSettings

  constructor(settings: LlmSettings) {
    this.#settings = settings
  }

  errorFormatFor({ request, choice: { errorFormat: dialect } }: Exchange): ErrorFormat {
    const asked = this.#settings.formats.formatOf(request.path)
    const isOne = this.#settings.host === 'provider' || isJsonFormat(asked)
    return isOne ? dialectOf(asked) : dialect
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { formats, catalogue } = this.#settings
    const { request } = exchange
    const asked = formats.formatOf(request.path)
    exchange.choice.errorFormat = this.errorFormatFor(exchange)
    if (catalogue.models !== null && request.method === 'GET') {
      const known = createModelsReply(request, catalogue.models)
      if (known !== null) return attempt.answer(known)
    }
    const format = formats.formatSentTo(catalogue.pathOverride, asked)
    new LlmAdmission(this.#settings, exchange, attempt, format).start()
  }
}

// One LLM request before a provider hears of it: read as far as the choice and the limits need, and admitted.

type LlmAdmissionState = 'reading' | 'admitting' | 'asking' | 'over'

class LlmAdmission implements PromptOwner, CancellableCall {
  readonly #settings: LlmSettings
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #format: LlmFormat
  /** By the request's head. */
  readonly #modelNaming: ModelNaming
  /** Whether something goes by the model that a request names. */
  readonly #dependsOnModel: boolean
  readonly #prompt: PromptBody
  readonly #facts: LlmFacts = {}
  #state: LlmAdmissionState = 'reading'
  /** It was admitted as free; if the response reports a cost after all, that is charged late. */
  #mayChargeLate = false
  /** Tokens taken in advance. */
  #estimate = 0

  constructor(settings: LlmSettings, exchange: Exchange, attempt: Attempt, format: LlmFormat) {
    this.#settings = settings
    this.#exchange = exchange
    this.#attempt = attempt
    this.#format = format
    const { prompts } = settings
    this.#modelNaming = this.#findModelNaming(exchange.request)
    this.#dependsOnModel =
      prompts.holdFor === 'model' || exchange.facts?.allowedModels !== undefined
    const named = this.#modelInHead
    // Member by member, not by a spread: see `Exchange.learn`.
    const options: PromptOptions = {
      maxHeldBytes: prompts.maxHeldBytes,
      maxKeptBytes: prompts.maxKeptBytes,
      sharedBudget: prompts.sharedBudget,
      watchedMembers: prompts.watchedMembers,
      holdFor: this.#dependsOnModel && named === null ? 'model' : 'nothing',
      types: isJsonFormat(format) ? 'any' : 'json',
      faults: this.#mustRead || isJsonFormat(format) ? 'refuse' : 'pass',
      model: this.#dependsOnModel && named !== null ? named.model : null,
    }
    this.#prompt = new PromptBody(attempt.body, exchange.request, options, this)
  }

  get #modelInHead(): ModelInHead | null {
    return this.#modelNaming === 'unclear' ? null : this.#modelNaming
  }

  get #model(): string | null {
    return this.#modelInHead?.model ?? this.#prompt.model
  }

  /** Something goes by what stands in the body, or changes it. What is not known to be for an LLM need not say anything. */
  get #mustRead(): boolean {
    const { edits, host } = this.#settings
    if (edits === 'members') return true
    return this.#dependsOnModel && (host === 'provider' || isJsonFormat(this.#format))
  }

  /** Whether it may ask a model anything. */
  get #mayAskModel(): boolean {
    const { request } = this.#exchange
    return request.upgrade !== '' || !isReadOnlyRequest(request.method, this.#attempt.body)
  }

  start(): void {
    const exchange = this.#exchange
    this.#facts.operation = operationOf(this.#format)
    exchange.addFacts({ llm: this.#facts })
    exchange.pendingCall = this
    // Of another try, which is over.
    exchange.forwarding.releaseResources?.()
    exchange.forwarding.releaseResources = () => this.#prompt.discard()
    this.#prompt.start()
    if (this.#state === 'reading') send100Continue(exchange)
  }

  /** The client has left, or was told that it took too long, before a provider was asked. */
  cancel(): void {
    this.#state = 'over'
  }

  ready(): void {
    if (this.#state === 'over') return
    try {
      this.#updateFacts()
      this.#check()
      const { catalogue } = this.#settings
      this.#exchange.trace?.recordLlmRequest(this.#format, this.#facts)
      this.#admit(catalogue.choose(this.#model, this.#exchange))
    } catch (error) {
      this.#fail(toGatewayError(error))
    }
  }

  moreKnown(): void {
    this.#updateFacts()
    const more = this.#estimateNow() - this.#estimate
    if (more <= 0 || this.#state !== 'asking') return
    this.#estimate += more
    for (const charge of this.#exchange.enforcement.charges) charge.raise(more)
  }

  failed(error: GatewayError): void {
    this.#state = 'over'
    // A provider may have the first half: the exchange ends that call, so that nobody takes it for a whole request.
    const exchange = this.#exchange
    if (exchange.forwarding.tokenCost !== null && !exchange.isAnswered)
      exchange.forwarding.tokenCost = NO_COST
    this.#closeAfterResponse()
    exchange.fail(error)
  }

  /** What cannot be read cannot be held to its model, nor changed: where that matters, it is not sent on. */
  #check(): void {
    const { request, facts } = this.#exchange
    const isHidden = this.#prompt.isOpaque && isCompressedRequest(request)
    const isJudged = this.#mustRead || facts?.allowedModels !== undefined
    if (isJudged && this.#modelNaming === 'unclear')
      throw new GatewayError(
        'LLM_REQUEST',
        'failed to process LLM request: the path or the query names its model in more than one way',
      )
    if (isHidden && isJsonFormat(this.#format) && this.#mustRead)
      throw new GatewayError(
        'LLM_ENCODING',
        'failed to process LLM request: a compressed body cannot be read here, send it without content-encoding',
      )
    const allowed = this.#mayAskModel ? facts?.allowedModels : undefined
    const model = this.#model
    if (
      allowed === undefined ||
      (model !== null && findBestModelName(allowed, model) !== undefined)
    )
      return
    throw new GatewayError('MODEL_DENIED', 'this key may not ask for this model')
  }

  #findModelNaming(request: RequestHead): ModelNaming {
    if (!this.#mayAskModel) return null
    const isRealtime = this.#format === 'realtime' || request.upgrade !== ''
    const inQuery = isRealtime ? findModelInQuery(request) : null
    // Much else is deployed, where not all is LLMs.
    const isKnown = this.#settings.host === 'provider' || isJsonFormat(this.#format)
    const inPath = findModelInPath(request, isKnown ? 'any' : 'sure')
    return inPath !== null && inQuery !== null ? 'unclear' : (inPath ?? inQuery)
  }

  #updateFacts(): void {
    const model = this.#model
    const { stream } = this.#prompt
    if (model !== null) this.#facts.requestModel = model
    if (stream !== null) this.#facts.streaming = stream
  }

  #estimateNow(): number {
    return estimateInput(this.#prompt.size) + estimateOutput(this.#prompt)
  }

  #admit(choices: readonly ProviderChoice[]): void {
    const exchange = this.#exchange
    this.#estimate = this.#estimateNow()
    // Another try of the route's `retry` was admitted with the first.
    if (!this.#settings.limitsTokens || exchange.forwarding.tokenCost !== null)
      return this.#callProviders(choices)
    if (this.#isFree(choices)) {
      this.#mayChargeLate = this.#mayAskModel
      return this.#callProviders(choices)
    }
    exchange.forwarding.tokenCost = NO_COST
    this.#state = 'admitting'
    const verdict = exchange.handler.admit(exchange, this.#estimate)
    if (verdict === undefined) return this.#callProviders(choices)
    if (!(verdict instanceof Promise)) return this.#refuse(verdict)
    verdict
      .then((reply) => {
        if (this.#state === 'over') return reply?.body.cancel()
        return reply === undefined ? this.#callProviders(choices) : this.#refuse(reply)
      })
      .catch((error: unknown) => this.#fail(toGatewayError(error)))
  }

  /** Whoever answers it. */
  #isFree(choices: readonly ProviderChoice[]): boolean {
    const { method } = this.#exchange.request
    return choices.every(({ candidate }) => {
      const format = this.#settings.formats.formatSentTo(candidate.entry.pathOverride, this.#format)
      return isFreeOfCharge(format, method, this.#attempt.body)
    })
  }

  /** Nobody reads the rest of the body: the connection ends with the answer, and says so. */
  #closeAfterResponse(): void {
    if (!this.#prompt.isWhole) this.#exchange.request.keepAlive = false
  }

  #refuse(reply: Reply): void {
    this.#state = 'over'
    this.#closeAfterResponse()
    this.#exchange.answer(reply)
  }

  #callProviders(choices: readonly ProviderChoice[]): void {
    this.#state = 'asking'
    const { usage, host, formats } = this.#settings
    const able = choices.filter(({ candidate }) =>
      supportsFormat(candidate.entry.provider, this.#format),
    )
    const turns = new ProviderAttempts(this.#exchange, this.#attempt, {
      // If nobody is able, the first says so.
      choices: able.length > 0 ? able : choices,
      usage,
      host,
      format: this.#format,
      formats,
      mayChargeLate: this.#mayChargeLate,
      modelInHead: this.#modelInHead,
      prompt: this.#prompt,
      facts: this.#facts,
    })
    turns.callNextProvider()
    // What came behind the point of decision.
    this.moreKnown()
  }

  #fail(error: GatewayError): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#closeAfterResponse()
    this.#attempt.fail(error)
  }
}

// The models of the `llm` section, as clients of either dialect ask for them.

const PATH = /\/models(?:\/(.+?))?\/*$/

/** All of them, or the one that is named; null for a path that asks for neither. */
function createModelsReply(request: RequestHead, ids: readonly string[]): Reply | null {
  const found = PATH.exec(request.path)
  if (found === null) return null
  const shape = request.has('anthropic-version') ? ANTHROPIC : OPENAI
  const name = found[1]
  if (name === undefined) return createModelsJsonReply(shape.list(ids))
  const id = ids.find((known) => known === name || encodeURIComponent(known) === name)
  if (id === undefined) throw new GatewayError('MODEL_NOT_FOUND', 'the model does not exist')
  return createModelsJsonReply(shape.one(id))
}

function createModelsJsonReply(value: object): Reply {
  return buildReply(200, [['content-type', 'application/json']], JSON.stringify(value))
}

interface ModelListShape {
  readonly list: (ids: readonly string[]) => object
  readonly one: (id: string) => object
}

const OPENAI: ModelListShape = {
  list: (ids) => ({ object: 'list', data: ids.map((id) => OPENAI.one(id)) }),
  one: (id) => ({ id, object: 'model', created: 0, owned_by: 'openai' }),
}

const ANTHROPIC: ModelListShape = {
  list: (ids) => ({
    data: ids.map((id) => ANTHROPIC.one(id)),
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
    has_more: false,
  }),
  one: (id) => ({ type: 'model', id, display_name: id, created_at: '1970-01-01T00:00:00Z' }),
}

// A plain HTTP backend on a route whose limits count tokens: what looks like an LLM request is treated as one.

type LlmRequestMatcher = (request: RequestHead, body: Body) => boolean

export class MeteredBackend implements Backend {
  readonly endpoint: string
  readonly #plain: Backend
  readonly #llm: Backend
  readonly #isLlm: LlmRequestMatcher

  constructor(plain: Backend, llm: Backend, isLlm: LlmRequestMatcher) {
    this.endpoint = plain.endpoint
    this.#plain = plain
    this.#llm = llm
    this.#isLlm = isLlm
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const backend = this.#isLlm(exchange.request, attempt.body) ? this.#llm : this.#plain
    backend.call(exchange, attempt)
  }
}

/**
 * A limit of the route's own is for everything that may cost; one of the whole gateway leaves plain APIs alone. What a
 * request says of its body's type counts for nothing: not every provider looks at it.
 */
export function createLlmRequestMatcher(
  formats: FormatTable,
  scope: 'route' | 'gateway',
): LlmRequestMatcher {
  return ({ method, path }, body) =>
    !isReadOnlyRequest(method, body) && (scope === 'route' || formats.formatOf(path) !== 'detect')
}
