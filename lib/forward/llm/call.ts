// One LLM request before a provider hears of it: read as far as the choice and the limits need, and admitted.

import type { LlmFacts } from '../../base/cel/facts.ts'
import type { LlmFormat } from '../../base/config/llm-types.ts'
import { NO_COST } from '../../base/cost.ts'
import { faultOf, GatewayError } from '../../base/errors.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Attempt, Call, Meter, Reply } from '../../base/types.ts'
import type { RequestHead } from '../../base/wire/head.ts'
import { letContinue } from '../let-continue.ts'
import type { LlmSettings } from './backend.ts'
import type { Choice } from './catalogue.ts'
import { inputEstimate, outputEstimate } from './estimate.ts'
import { isFree, isJsonFormat, isReading, operationOf } from './formats.ts'
import { bestMatch } from './model-names.ts'
import { namedInPath, namedInQuery } from './model-place.ts'
import type { NamedModel, Naming } from './model-place.ts'
import { isCompressed } from './prompt/is-json.ts'
import { Prompt } from './prompt/prompt.ts'
import type { PromptOptions } from './prompt/prompt.ts'
import { speaks } from './provider.ts'
import { Turns } from './turns.ts'
import type { PromptOwner } from './types.ts'

type State = 'reading' | 'admitting' | 'asking' | 'over'

export class LlmCall implements PromptOwner, Call {
  readonly #settings: LlmSettings
  readonly #exchange: Exchange
  readonly #attempt: Attempt
  readonly #format: LlmFormat
  /** By the request's head. */
  readonly #naming: Naming
  /** Whether something goes by the model that a request names. */
  readonly #judges: boolean
  readonly #prompt: Prompt
  readonly #facts: LlmFacts = {}
  #state: State = 'reading'
  /** For what was let pass as free, in case it turns out not to be. */
  #late: Meter | null = null
  /** Tokens taken in advance. */
  #estimate = 0

  constructor(settings: LlmSettings, exchange: Exchange, attempt: Attempt, format: LlmFormat) {
    this.#settings = settings
    this.#exchange = exchange
    this.#attempt = attempt
    this.#format = format
    const { prompts } = settings
    this.#naming = this.#namingOf(exchange.request)
    this.#judges = prompts.holdFor === 'model' || exchange.facts?.allowedModels !== undefined
    const named = this.#named
    // Member by member, not by a spread: see `Exchange.learn`.
    const options: PromptOptions = {
      maxHeldBytes: prompts.maxHeldBytes,
      keep: prompts.keep,
      together: prompts.together,
      watched: prompts.watched,
      holdFor: this.#judges && named === null ? 'model' : 'nothing',
      types: isJsonFormat(format) ? 'any' : 'json',
      faults: this.#mustRead || isJsonFormat(format) ? 'refuse' : 'pass',
      model: this.#judges && named !== null ? named.model : null,
    }
    this.#prompt = new Prompt(attempt.body, exchange.request, options, this)
  }

  get #named(): NamedModel | null {
    return this.#naming === 'unclear' ? null : this.#naming
  }

  get #model(): string | null {
    return this.#named?.model ?? this.#prompt.model
  }

  /** Something goes by what stands in the body, or changes it. What is not known to be for an LLM need not say anything. */
  get #mustRead(): boolean {
    const { edits, host } = this.#settings
    if (edits === 'members') return true
    return this.#judges && (host === 'provider' || isJsonFormat(this.#format))
  }

  /** Whether it may ask a model anything. */
  get #asks(): boolean {
    const { request } = this.#exchange
    return request.upgrade !== '' || !isReading(request.method, this.#attempt.body)
  }

  start(): void {
    const exchange = this.#exchange
    this.#facts.operation = operationOf(this.#format)
    exchange.learn({ llm: this.#facts })
    exchange.call = this
    // Of another try, which is over.
    exchange.release?.()
    exchange.release = () => this.#prompt.done()
    this.#prompt.start()
    if (this.#state === 'reading') letContinue(exchange)
  }

  /** The client has left, or was told that it took too long, before a provider was asked. */
  cancel(): void {
    this.#state = 'over'
  }

  ready(): void {
    if (this.#state === 'over') return
    try {
      this.#learn()
      this.#check()
      const { catalogue } = this.#settings
      this.#exchange.trace?.llm(this.#format, this.#facts)
      this.#admit(catalogue.choose(this.#model, this.#exchange))
    } catch (error) {
      this.#fail(faultOf(error))
    }
  }

  learnt(): void {
    this.#learn()
    const more = this.#estimateNow() - this.#estimate
    if (more <= 0 || this.#state !== 'asking') return
    this.#estimate += more
    for (const charge of this.#exchange.charges) charge.raise(more)
  }

  failed(error: GatewayError): void {
    this.#state = 'over'
    // A provider may have the first half: the exchange ends that call, so that nobody takes it for a whole request.
    const exchange = this.#exchange
    if (exchange.spent !== null && !exchange.isAnswered) exchange.spent = NO_COST
    this.#sayGoodbye()
    exchange.fail(error)
  }

  /** What cannot be read cannot be held to its model, nor changed: where that matters, it is not sent on. */
  #check(): void {
    const { request, facts } = this.#exchange
    const isHidden = this.#prompt.isOpaque && isCompressed(request)
    const isJudged = this.#mustRead || facts?.allowedModels !== undefined
    if (isJudged && this.#naming === 'unclear')
      throw new GatewayError(
        'LLM_REQUEST',
        'failed to process LLM request: the path or the query names its model in more than one way',
      )
    if (isHidden && isJsonFormat(this.#format) && this.#mustRead)
      throw new GatewayError(
        'LLM_ENCODING',
        'failed to process LLM request: a compressed body cannot be read here, send it without content-encoding',
      )
    const allowed = this.#asks ? facts?.allowedModels : undefined
    const model = this.#model
    if (allowed === undefined || (model !== null && bestMatch(allowed, model) !== undefined)) return
    throw new GatewayError('MODEL_DENIED', 'this key may not ask for this model')
  }

  #namingOf(request: RequestHead): Naming {
    if (!this.#asks) return null
    const isRealtime = this.#format === 'realtime' || request.upgrade !== ''
    const inQuery = isRealtime ? namedInQuery(request) : null
    // Much else is deployed, where not all is LLMs.
    const isKnown = this.#settings.host === 'provider' || isJsonFormat(this.#format)
    const inPath = namedInPath(request, isKnown ? 'any' : 'sure')
    return inPath !== null && inQuery !== null ? 'unclear' : (inPath ?? inQuery)
  }

  #learn(): void {
    const model = this.#model
    const { stream } = this.#prompt
    if (model !== null) this.#facts.requestModel = model
    if (stream !== null) this.#facts.streaming = stream
  }

  #estimateNow(): number {
    return inputEstimate(this.#prompt.size) + outputEstimate(this.#prompt)
  }

  #admit(choices: readonly Choice[]): void {
    const { meter } = this.#settings
    const exchange = this.#exchange
    this.#estimate = this.#estimateNow()
    // Another try of the route's `retry` was admitted with the first.
    if (meter === null || exchange.spent !== null) return this.#ask(choices)
    if (this.#isFree(choices)) {
      if (this.#asks) this.#late = meter
      return this.#ask(choices)
    }
    exchange.spent = NO_COST
    this.#state = 'admitting'
    const verdict = meter.admit(exchange, this.#estimate)
    if (verdict === undefined) return this.#ask(choices)
    if (!(verdict instanceof Promise)) return this.#refuse(verdict)
    verdict
      .then((reply) => {
        if (this.#state === 'over') return reply?.body.cancel()
        return reply === undefined ? this.#ask(choices) : this.#refuse(reply)
      })
      .catch((error: unknown) => this.#fail(faultOf(error)))
  }

  /** Whoever answers it. */
  #isFree(choices: readonly Choice[]): boolean {
    const { method } = this.#exchange.request
    return choices.every(({ candidate }) => {
      const format = this.#settings.formats.sent(candidate.entry.pathOverride, this.#format)
      return isFree(format, method, this.#attempt.body)
    })
  }

  /** Nobody reads the rest of the body: the connection ends with the answer, and says so. */
  #sayGoodbye(): void {
    if (!this.#prompt.isWhole) this.#exchange.request.keepAlive = false
  }

  #refuse(reply: Reply): void {
    this.#state = 'over'
    this.#exchange.answeredBy = 'tokenLimit'
    this.#sayGoodbye()
    this.#exchange.answer(reply)
  }

  #ask(choices: readonly Choice[]): void {
    this.#state = 'asking'
    const { usage, host, formats } = this.#settings
    const able = choices.filter(({ candidate }) => speaks(candidate.entry.provider, this.#format))
    const turns = new Turns(this.#exchange, this.#attempt, {
      // If nobody is able, the first says so.
      choices: able.length > 0 ? able : choices,
      usage,
      host,
      format: this.#format,
      formats,
      late: this.#late,
      named: this.#named,
      prompt: this.#prompt,
      facts: this.#facts,
    })
    turns.next()
    // What came behind the point of decision.
    this.learnt()
  }

  #fail(error: GatewayError): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#sayGoodbye()
    this.#attempt.fail(error)
  }
}
