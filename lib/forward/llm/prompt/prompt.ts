// The body of an LLM request: read ahead as far as a decision needs it, then passed on, edited on its way, to one provider
// after the other. What need not be held is not.
//
// `start` reads. `ready` comes once, when what `holdFor` names is known; from then on the client waits until a try takes
// the body. `bodyWith` makes the body of a try and sets the head's content-length for it: call it behind whatever restores
// the head between tries. For another try, call `release`, ask `isReplayable`, and call `bodyWith` again. `done` gives back
// what is held; call it at the end, whatever the end.

import assert from 'node:assert'
import type { ByteBudget } from '../../../core/byte-budgets.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HeaderFields, RequestHead } from '../../../core/head.ts'
import type { Body, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import type { BodyEdits, PromptFacts, PromptOwner } from '../llm-call-types.ts'
import { essenceOf, isJsonType } from '../llm-formats.ts'
import { AttemptBody } from './attempt-body.ts'
import type { AttemptBodySource } from './attempt-body.ts'
import { PromptOutline } from './prompt-outline.ts'
import type { WatchedMembers } from './prompt-outline.ts'
import { KeptBytes, PromptRewrite } from './prompt-rewrite.ts'

/** The same for all requests of a route. */
export interface PromptOptions {
  /** `nothing`: only what comes with the head is looked at before the decision. */
  readonly holdFor: 'model' | 'nothing'
  /** Of one request, before a try takes it. */
  readonly maxHeldBytes: number
  /** A body up to this length is kept for another try; 0 for none. */
  readonly maxKeptBytes: number
  /** `any`: it is JSON whatever its type says, as many providers do not look at that. */
  readonly types: 'json' | 'any'
  /** `pass`: what cannot be read goes on all the same, and nothing more is known of it. Not for bodies that are edited. */
  readonly faults: 'refuse' | 'pass'
  /** Named in front of the body, which must not name another; null where only the body may name one. */
  readonly model: string | null
  /** What all requests may hold and keep. */
  readonly sharedBudget: ByteBudget
  /** Edits may name these members, and no others. */
  readonly watchedMembers: WatchedMembers
}

/** `gathering`: what has come already is being delivered. `ready`: the next try is awaited. */
type PromptBodyState = 'fresh' | 'gathering' | 'reading' | 'ready' | 'flowing' | 'over'

const PROMPT_BODY_TRANSITIONS: Record<PromptBodyState, readonly PromptBodyState[]> = {
  fresh: ['gathering', 'over'],
  gathering: ['reading', 'over'],
  reading: ['ready', 'over'],
  ready: ['flowing', 'over'],
  flowing: ['ready', 'over'],
  over: [],
}

export class PromptBody implements PromptFacts, Sink, AttemptBodySource {
  readonly #source: Body
  readonly #framing: BodyFraming
  readonly #length: number
  readonly #head: RequestHead
  readonly #options: PromptOptions
  readonly #owner: PromptOwner
  readonly #outline: PromptOutline
  /** From the first byte on, or nothing. */
  readonly #kept: KeptBytes
  #state: PromptBodyState = 'fresh'
  #sourceState: 'more' | 'nothing' | Outcome = 'more'
  #trailers: HeaderFields | null = null
  #size = 0
  /** How much of the outline the owner has heard of. */
  #reportedCount = 0
  #attemptBody: AttemptBody | null = null
  #reading: 'on' | 'off'

  constructor(body: Body, head: RequestHead, options: PromptOptions, owner: PromptOwner) {
    this.#source = body
    // A connection's body is another when its next request comes.
    this.#framing = body.framing
    this.#length = body.length
    this.#head = head
    this.#options = options
    this.#owner = owner
    this.#outline = new PromptOutline(options.watchedMembers, options.model)
    this.#kept = new KeptBytes(options.sharedBudget)
    const isReadable =
      !isCompressedRequest(head) && (options.types === 'any' || isJsonRequest(head))
    this.#reading = body.framing === 'none' || !isReadable ? 'off' : 'on'
  }

  /** Nothing can be known of it, and nothing edited: it is empty, compressed or no JSON. */
  get isOpaque(): boolean {
    return this.#reading === 'off'
  }

  get model(): string | null {
    return this.#outline.model
  }

  get stream(): boolean | null {
    return this.#outline.stream
  }

  get includeUsage(): boolean | null {
    return this.#outline.includeUsage
  }

  get maxTokens(): number | null {
    return this.#outline.maxTokens
  }

  /** The last byte has come. */
  get isWhole(): boolean {
    return this.#sourceState === 'nothing'
  }

  /** Of the whole body, if its client said so; otherwise of what has come. */
  get size(): number {
    return Math.max(this.#length, this.#size)
  }

  /** What has come of it. */
  get received(): number {
    return this.#size
  }

  /** Another try would get all of it. */
  get isReplayable(): boolean {
    return !this.#isLost && this.#kept.length === this.#size
  }

  /** The try under way asks for usage on the client's behalf, as far as its body has gone out. */
  get asksForUsage(): boolean {
    return this.#attemptBody?.asksForUsage ?? false
  }

  /** The try under way does so, or may do so yet: what stands in its body is not known to the end. */
  get mayAskForUsage(): boolean {
    return this.#attemptBody?.mayAskForUsage ?? false
  }

  start(): void {
    this.#move('gathering')
    this.#source.start(this, 'content')
    if (this.#state !== 'gathering') return
    this.#move('reading')
    this.#notifyOwner()
  }

  createAttemptBody(edits: BodyEdits): AttemptBody {
    assert(this.#state === 'ready', 'one try after the other')
    const { set, replace, defaults, usage } = edits
    const isEdited = set.size + replace.size + defaults.size > 0 || usage === 'ask'
    const { sharedBudget } = this.#options
    const rewrite =
      isEdited && !this.isOpaque ? new PromptRewrite(this.#outline, edits, sharedBudget) : null
    const length = this.isWhole ? this.#size : this.#length
    const framed = length < 0 ? -1 : length + (rewrite?.growth ?? 0)
    const framing = framed < 0 ? 'open' : framed === 0 ? 'none' : 'length'
    if (this.#framing !== 'none') this.#setFraming(framed)
    this.#attemptBody = new AttemptBody(
      this,
      rewrite,
      this.#framing === 'none' ? 'none' : framing,
      framed,
    )
    return this.#attemptBody
  }

  /** The try that was reading is over; what comes now waits for the next one. */
  endAttempt(): void {
    this.#attemptBody?.detachSink()
    this.#attemptBody = null
    if (this.#state !== 'flowing') return
    this.#move('ready')
    if (this.#sourceState === 'more') this.#source.pause()
  }

  /** Nobody wants any of it any more. */
  discard(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#attemptBody?.detachSink()
    this.#attemptBody = null
    this.#kept.release()
  }

  begin(body: AttemptBody): void {
    // Whoever asks may not have heard that its try was given up.
    if (body !== this.#attemptBody) return
    this.#move('flowing')
    for (const piece of this.#kept.pieces()) body.push(piece, 0, piece.length)
    if (this.#attemptBody !== body || this.#endsByFault()) return
    if (this.size > this.#options.maxKeptBytes) this.#kept.release()
    if (this.#sourceState === 'nothing') body.finish(this.#trailers)
    else if (this.#sourceState !== 'more') body.cut(this.#sourceState)
    else if (!body.isFull) this.#source.resume()
  }

  pause(body: AttemptBody): void {
    if (body === this.#attemptBody && this.#sourceState === 'more') this.#source.pause()
  }

  resume(body: AttemptBody): void {
    if (body !== this.#attemptBody || this.#state !== 'flowing') return
    // Behind the end it may be another request's already.
    if (this.#sourceState === 'more') this.#source.resume()
  }

  cancel(body: AttemptBody): void {
    if (body !== this.#attemptBody) return
    this.discard()
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    const wasKept = this.#kept.length === this.#size
    this.#size += to - from
    if (!this.isOpaque) this.#outline.write(bytes, from, to)
    if (this.#endsByFault()) return false
    if (this.#state === 'flowing') {
      if (wasKept) this.#keep(bytes, from, to)
      this.#attemptBody?.push(bytes, from, to)
      if (this.#endsByFault()) return false
    } else if (!wasKept || !this.#hold(bytes, from, to)) return false
    this.#notifyOwner()
    return this.#takesMore
  }

  end(trailers: HeaderFields | null): void {
    if (this.#state === 'over') return
    this.#sourceState = 'nothing'
    this.#trailers = trailers
    if (!this.isOpaque) this.#outline.end()
    if (this.#endsByFault()) return
    if (this.#state === 'flowing') this.#attemptBody?.finish(trailers)
    this.#notifyOwner()
  }

  /** The client is gone, and with it the exchange. */
  cut(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#sourceState = outcome
    this.#kept.release()
    if (this.#state === 'flowing') this.#attemptBody?.cut(outcome)
  }

  /** The client has left, or it is of no use any more. */
  get #isLost(): boolean {
    return (
      this.#state === 'over' || (this.#sourceState !== 'more' && this.#sourceState !== 'nothing')
    )
  }

  get #takesMore(): boolean {
    if (this.#state === 'flowing') return this.#attemptBody?.isFull === false
    return this.#state !== 'ready'
  }

  /** Tells the owner what it waits for, or what is new since. */
  #notifyOwner(): void {
    if (this.#isLost) return
    if (this.#state === 'reading' && this.#isEnough) {
      this.#move('ready')
      this.#reportedCount = this.#outline.knownCount
      this.#owner.ready()
    } else if (this.#state === 'ready' || this.#state === 'flowing') {
      // Of a body without a length, its end is news too.
      const isNews =
        this.#reportedCount < this.#outline.knownCount || (this.isWhole && this.#length < 0)
      this.#reportedCount = this.#outline.knownCount
      if (isNews) this.#owner.moreKnown()
    }
  }

  get #isEnough(): boolean {
    if (this.isWhole || this.isOpaque || this.#options.holdFor === 'nothing') return true
    // With the last byte here, its end is about to be told, and a whole body needs no guess of its length.
    return this.#outline.isKnown('model') && this.#size !== this.#length
  }

  /** The decision waits for the model, and all that has come does not tell it. */
  get #isSearching(): boolean {
    if (this.isOpaque || this.#options.holdFor === 'nothing') return false
    return !this.#outline.isKnown('model')
  }

  /** While no try takes it. */
  #hold(bytes: Buffer, from: number, to: number): boolean {
    const { maxHeldBytes, maxKeptBytes, faults } = this.#options
    const most = this.#isSearching ? maxHeldBytes : Math.max(maxHeldBytes, maxKeptBytes)
    if (this.#kept.length + to - from > most) {
      if (!this.#isSearching || faults === 'refuse')
        return this.#fail(createPromptTooLargeError(this.size, maxHeldBytes))
      this.#reading = 'off'
    }
    return (
      this.#kept.add(bytes, from, to) || this.#fail(createPromptMemoryError(this.#kept.budgetLimit))
    )
  }

  /** While one does, for the next. */
  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.size > this.#options.maxKeptBytes || !this.#kept.add(bytes, from, to))
      this.#kept.release()
  }

  /** Whether there was one, and it matters. */
  #endsByFault(): boolean {
    const { error } = this.#outline
    if (error === null || this.isOpaque) return false
    if (this.#options.faults === 'refuse') return !this.#fail(error)
    this.#reading = 'off'
    return false
  }

  /** The head's word for a body of that length; -1 for one that ends when it ends. */
  #setFraming(length: number): void {
    if (length < 0) return
    const head = this.#head
    head.remove('transfer-encoding')
    if (head.get('content-length') !== String(length)) head.set('content-length', String(length))
  }

  /** A try under way never sees the end, so that no provider takes what it got for a request. */
  #fail(error: GatewayError): false {
    this.discard()
    this.#owner.failed(error)
    return false
  }

  #move(to: PromptBodyState): void {
    if (!PROMPT_BODY_TRANSITIONS[this.#state].includes(to))
      throw new Error(`prompt: ${this.#state} → ${to}`)
    this.#state = to
  }
}

// What a client is told of a body that could not be held.

function createPromptTooLargeError(size: number, most: number): GatewayError {
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: of ${size} bytes or more, the first ${most} did not tell its model ` +
      '(config.llm.maxHeldBytes)',
    { limit: ['maxHeldBytes', most] },
  )
}

function createPromptMemoryError(most: number): GatewayError {
  return new GatewayError(
    'POOL_EXHAUSTED',
    `too much is held of other requests, at most ${most} bytes (config.llm.maxHeldTogether): try again later`,
    { limit: ['maxHeldTogether', most] },
  )
}

// Whether a request's body can be read as JSON on its way.

export function isCompressedRequest(head: RequestHead): boolean {
  const encoding = head.get('content-encoding')
  return encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
}

/** A body without a type counts as JSON, for that is what providers take it for. */
export function isJsonRequest(head: RequestHead): boolean {
  const type = head.get('content-type')
  if (type === undefined || type === 'application/json') return true
  return isJsonType(essenceOf(type))
}
