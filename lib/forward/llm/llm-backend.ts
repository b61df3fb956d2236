// The LLM backend of a route: reads a request until its format and model are known, checks and admits it, and calls providers.
// Also lists the configured models, and finds LLM requests among those to a plain HTTP backend.

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
  TokenEstimate,
} from '../../core/types.ts'
import { send100Continue } from '../backend-attempt.ts'
import { checkLlmOrigin } from '../cross-site-checks.ts'
import type { LlmHosts } from '../cross-site-checks.ts'
import type { BodyEdits, PromptOwner } from './llm-call-types.ts'
import {
  chargeBasisOf,
  dialectOf,
  isJsonFormat,
  isReadOnlyRequest,
  operationOf,
} from './llm-formats.ts'
import type { ChargeBasis, FormatTable } from './llm-formats.ts'
import { findModelInPath, findModelInQuery } from './model-position.ts'
import type { ModelInHead, ModelNaming } from './model-position.ts'
import { ModelListAttempt } from './model-list-filter.ts'
import { isCompressedRequest, PromptBody } from './prompt/prompt.ts'
import type { PromptOptions } from './prompt/prompt.ts'
import { estimateCost, ProviderAttempts } from './provider-attempts.ts'
import { findBestModelName } from './provider-catalogue.ts'
import type { ProviderCatalogue, ProviderChoice } from './provider-catalogue.ts'
import { configuredPathOf, supportsFormat } from './provider.ts'

export interface LlmSettings {
  readonly formats: FormatTable
  readonly catalogue: ProviderCatalogue
  readonly limitsTokens: boolean
  readonly prompts: Omit<PromptOptions, 'types' | 'faults' | 'model'>
  /** `plain`: a host with other requests too, not only LLM requests. */
  readonly host: 'provider' | 'plain'
  readonly hosts: LlmHosts
  /** Whether body members are changed, apart from `stream_options`. */
  readonly edits: 'members' | 'nothing'
  /** Whether to ask providers for usage where the client does not. */
  readonly usage: BodyEdits['usage']
  /** Time to the response head of a provider in ms, before the next one is called; 0 for any time. */
  readonly firstByteTimeout: number
}

export class LlmBackend implements Backend {
  /** Empty until a provider is chosen. */
  readonly endpoint = ''
  readonly #settings: LlmSettings

  constructor(settings: LlmSettings) {
    this.#settings = settings
  }

  errorFormatFor({ request, choice }: Exchange): ErrorFormat {
    const format = this.#settings.formats.formatOf(request.path)
    const isLlm = this.#settings.host === 'provider' || isJsonFormat(format)
    return isLlm ? dialectOf(format) : choice.errorFormat
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const { formats, catalogue } = this.#settings
    const { request } = exchange
    const requested = formats.formatOf(request.path)
    const refusal =
      this.#settings.host === 'provider' ? checkLlmOrigin(exchange, this.#settings.hosts) : null
    if (refusal !== null) {
      exchange.trace?.recordRefusal('crossSiteProtection', 403, refusal)
      return exchange.fail(new GatewayError('ORIGIN_NOT_ALLOWED', refusal))
    }
    const models = request.method === 'GET' ? catalogue.listModels(exchange) : null
    if (models !== null) {
      const reply = createModelsReply(request, models)
      if (reply !== null) return attempt.answer(reply)
    }
    const format = formats.formatSentTo(catalogue.pathOverride, requested)
    const listing = this.#filterModelList(exchange, attempt)
    new LlmAdmission(this.#settings, exchange, listing, format).start()
  }

  /** A provider lists all of its models; a client with an API key sees those that the key may use. */
  #filterModelList(exchange: Exchange, attempt: Attempt): Attempt {
    const { request, facts } = exchange
    const allowed = facts?.allowedModels
    if (allowed === undefined || request.method !== 'GET') return attempt
    const match = this.#settings.host === 'provider' ? MODELS_PATH.exec(request.path) : null
    if (match === null) return attempt
    const name = match[1]
    if (name === undefined) return new ModelListAttempt(exchange, attempt, allowed)
    if (findBestModelName(allowed, decodeModelName(name)) !== undefined) return attempt
    throw new GatewayError('MODEL_NOT_FOUND', 'the model does not exist')
  }
}

type LlmAdmissionState = 'reading' | 'admitting' | 'calling' | 'over'

/** One LLM request before a provider is called: reads as much as the choice and the limits need, and admits it. */
class LlmAdmission implements PromptOwner, CancellableCall {
  readonly #settings: LlmSettings
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #format: LlmFormat
  /** The model in path or query. */
  readonly #modelNaming: ModelNaming
  /** Whether the choice of providers or an API key depends on the model. */
  readonly #dependsOnModel: boolean
  readonly #prompt: PromptBody
  readonly #facts: LlmFacts = {}
  #state: LlmAdmissionState = 'reading'
  /** Set for a request that passed as free, in case its response reports a cost. */
  #mayChargeLate = false
  /** What was charged in advance; null before the admission. */
  #estimate: TokenEstimate | null = null
  #chargeBasis: ChargeBasis = 'size'

  constructor(settings: LlmSettings, exchange: Exchange, attempt: Attempt, format: LlmFormat) {
    this.#settings = settings
    this.#exchange = exchange
    this.#attempt = attempt
    this.#format = format
    const { prompts } = settings
    this.#modelNaming = this.#findModelNaming(exchange.request)
    this.#dependsOnModel =
      prompts.holdFor === 'model' || exchange.facts?.allowedModels !== undefined
    const modelInHead = this.#modelInHead
    // Member by member instead of a spread, for the reason at `Exchange.addFacts`.
    const options: PromptOptions = {
      maxHeldBytes: prompts.maxHeldBytes,
      maxKeptBytes: prompts.maxKeptBytes,
      sharedBudget: prompts.sharedBudget,
      watchedMembers: prompts.watchedMembers,
      holdFor: this.#dependsOnModel && modelInHead === null ? 'model' : 'nothing',
      types: isJsonFormat(format) ? 'any' : 'json',
      faults: this.#mustRead || isJsonFormat(format) ? 'refuse' : 'pass',
      model: this.#dependsOnModel && modelInHead !== null ? modelInHead.model : null,
    }
    this.#prompt = new PromptBody(attempt.body, exchange.request, options, this)
  }

  get #modelInHead(): ModelInHead | null {
    return this.#modelNaming === 'unclear' ? null : this.#modelNaming
  }

  get #model(): string | null {
    return this.#modelInHead?.model ?? this.#prompt.model
  }

  /** Whether the body is needed, to choose a provider or to edit it. A request that may not be an LLM request needs no model. */
  get #mustRead(): boolean {
    const { edits, host } = this.#settings
    if (edits === 'members') return true
    return this.#dependsOnModel && (host === 'provider' || isJsonFormat(this.#format))
  }

  get #mayCallModel(): boolean {
    const { request } = this.#exchange
    return request.upgrade !== '' || !isReadOnlyRequest(request.method, this.#attempt.body)
  }

  start(): void {
    const exchange = this.#exchange
    this.#facts.operation = operationOf(this.#format)
    exchange.addFacts({ llm: this.#facts })
    exchange.pendingCall = this
    // Releases the prompt of an earlier attempt.
    exchange.forwarding.releaseResources?.()
    exchange.forwarding.releaseResources = () => this.#prompt.discard()
    this.#prompt.start()
    if (this.#state === 'reading') send100Continue(exchange)
  }

  /** The client closed the connection or the request timed out, before a provider was called. */
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
    const { charges } = this.#exchange.enforcement
    if (charges.length === 0 || this.#state !== 'calling') return
    const [charged, estimate] = [this.#estimate, this.#estimateNow()]
    const isSame = charged?.input === estimate.input && charged.maxOutput === estimate.maxOutput
    if (isSame && charged.model === estimate.model) return
    this.#estimate = estimate
    for (const charge of charges) charge.raise(estimate)
  }

  failed(error: GatewayError): void {
    this.#state = 'over'
    // A provider may have part of the request: `exchange.fail` aborts that call, so that it is not processed.
    const exchange = this.#exchange
    if (exchange.forwarding.tokenCost !== null && !exchange.isAnswered)
      exchange.forwarding.tokenCost = NO_COST
    this.#closeAfterResponse()
    exchange.fail(error)
  }

  /** Refuses a request whose model is ambiguous, unreadable or not allowed, where the model matters. */
  #check(): void {
    const { request, facts } = this.#exchange
    const isCompressed = this.#prompt.isOpaque && isCompressedRequest(request)
    const needsModel = this.#mustRead || facts?.allowedModels !== undefined
    if (needsModel && this.#modelNaming === 'unclear')
      throw new GatewayError(
        'LLM_REQUEST',
        'failed to process LLM request: the model in the path or query is ambiguous',
      )
    if (isCompressed && isJsonFormat(this.#format) && this.#mustRead)
      throw new GatewayError(
        'LLM_ENCODING',
        'failed to process LLM request: a compressed body cannot be read, send it without content-encoding',
      )
    const allowed = this.#mayCallModel ? facts?.allowedModels : undefined
    const model = this.#model
    if (
      allowed === undefined ||
      (model !== null && findBestModelName(allowed, model) !== undefined)
    )
      return
    throw new GatewayError('MODEL_DENIED', 'this API key may not use this model')
  }

  #findModelNaming(request: RequestHead): ModelNaming {
    if (!this.#mayCallModel) return null
    const isRealtime = this.#format === 'realtime' || request.upgrade !== ''
    const inQuery = isRealtime ? findModelInQuery(request) : null
    // On a plain host, `/deployments/` may belong to another API.
    const isLlm = this.#settings.host === 'provider' || isJsonFormat(this.#format)
    const inPath = findModelInPath(request, isLlm ? 'any' : 'sure')
    return inPath !== null && inQuery !== null ? 'unclear' : (inPath ?? inQuery)
  }

  #updateFacts(): void {
    const model = this.#model
    const { stream } = this.#prompt
    if (model !== null) this.#facts.requestModel = model
    if (stream !== null) this.#facts.streaming = stream
  }

  #estimateNow(): TokenEstimate {
    return this.#chargeBasis === 'size'
      ? estimateCost(this.#prompt, this.#model)
      : { model: this.#model, input: 0, output: 0, maxOutput: null }
  }

  #admit(choices: readonly ProviderChoice[]): void {
    const exchange = this.#exchange
    this.#chargeBasis = this.#findChargeBasis(choices)
    // A retry of the route was admitted with the first attempt.
    if (!this.#settings.limitsTokens || exchange.forwarding.tokenCost !== null)
      return this.#callProviders(choices)
    if (this.#chargeBasis === 'free') {
      this.#mayChargeLate = this.#mayCallModel
      return this.#callProviders(choices)
    }
    exchange.forwarding.tokenCost = NO_COST
    this.#state = 'admitting'
    this.#estimate = this.#estimateNow()
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

  /** That of the provider that charges most. */
  #findChargeBasis(choices: readonly ProviderChoice[]): ChargeBasis {
    const { request } = this.#exchange
    if (isReadOnlyRequest(request.method, this.#attempt.body)) return 'free'
    const contentType = request.get('content-type') ?? ''
    let basis: ChargeBasis = 'free'
    for (const { candidate } of choices) {
      const { entry } = candidate
      const format = this.#settings.formats.formatSentTo(entry.pathOverride, this.#format)
      const path = configuredPathOf(entry, this.#format) ?? request.path
      const one = chargeBasisOf(format, path, contentType)
      if (one === 'size') return one
      if (one === 'report') basis = one
    }
    return basis
  }

  /** The rest of the body is not read, so the connection closes after the response, which announces it. */
  #closeAfterResponse(): void {
    if (!this.#prompt.isWhole) this.#exchange.request.keepAlive = false
  }

  #refuse(reply: Reply): void {
    this.#state = 'over'
    this.#closeAfterResponse()
    this.#exchange.answer(reply)
  }

  #callProviders(choices: readonly ProviderChoice[]): void {
    this.#state = 'calling'
    const { usage, host, formats, firstByteTimeout } = this.#settings
    const supported = choices.filter(({ candidate }) =>
      supportsFormat(candidate.entry.provider, this.#format),
    )
    const attempts = new ProviderAttempts(this.#exchange, this.#attempt, {
      // If no provider supports the format, the call of the first one fails with that error.
      choices: supported.length > 0 ? supported : choices,
      usage,
      host,
      firstByteTimeout,
      format: this.#format,
      formats,
      mayChargeLate: this.#mayChargeLate,
      chargeBasis: this.#chargeBasis,
      modelInHead: this.#modelInHead,
      prompt: this.#prompt,
      facts: this.#facts,
    })
    attempts.callNextProvider()
    // More of the body may have arrived since the estimate.
    this.moreKnown()
  }

  #fail(error: GatewayError): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#closeAfterResponse()
    this.#attempt.fail(error)
  }
}

const MODELS_PATH = /\/models(?:\/(.+?))?\/*$/

function decodeModelName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Answers `GET /models` and `GET /models/<id>` of the `llm` section, in the dialect of the client; null for other paths. */
function createModelsReply(request: RequestHead, ids: readonly string[]): Reply | null {
  const match = MODELS_PATH.exec(request.path)
  if (match === null) return null
  const shape = request.has('anthropic-version') ? ANTHROPIC : OPENAI
  const name = match[1]
  const id = ids.find((one) => one === name || encodeURIComponent(one) === name)
  if (name !== undefined && id === undefined)
    throw new GatewayError('MODEL_NOT_FOUND', 'the model does not exist')
  const content = id === undefined ? shape.list(ids) : shape.one(id)
  return buildReply(200, [['content-type', 'application/json']], JSON.stringify(content))
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

type LlmRequestMatcher = (request: RequestHead, body: Body) => boolean

/** A plain HTTP backend with token limits: requests that look like LLM requests go through the LLM backend. */
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

  errorFormatFor(exchange: Exchange): ErrorFormat {
    const { request, body, choice } = exchange
    const backend = this.#isLlm(request, body) ? this.#llm : this.#plain
    return backend.errorFormatFor?.(exchange) ?? choice.errorFormat
  }

  call(exchange: Exchange, attempt: Attempt): void {
    const backend = this.#isLlm(exchange.request, attempt.body) ? this.#llm : this.#plain
    backend.call(exchange, attempt)
  }
}

/**
 * A limit of the route applies to every request that may cost tokens; a limit of the gateway only to paths of LLM APIs. The
 * content-type does not matter, as not every provider checks it.
 */
export function createLlmRequestMatcher(
  formats: FormatTable,
  scope: 'route' | 'gateway',
): LlmRequestMatcher {
  return ({ method, path }, body) =>
    !isReadOnlyRequest(method, body) && (scope === 'route' || formats.formatOf(path) !== 'detect')
}
