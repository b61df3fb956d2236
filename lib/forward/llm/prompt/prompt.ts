// The body of an LLM request: read ahead until the provider can be chosen, then sent with edits to one provider after the other.
// No more is held than the choice and a retry need.
//
// `start` begins to read. `ready` is called once, when what `holdFor` names is known; the client is paused until an attempt takes
// the body. `createAttemptBody` also sets the content-length: call it after the head is restored between attempts. For another
// attempt, call `endAttempt`, check `isReplayable`, and call `createAttemptBody` again. Always call `discard` at the end.

import assert from 'node:assert'
import type { ByteBudget } from '../../../core/byte-budgets.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { HeaderFields, RequestHead } from '../../../core/head.ts'
import type { Body, BodyFraming, Outcome, Sink } from '../../../core/types.ts'
import { EncodedByteCounter } from '../../../text/encoded-bytes.ts'
import type { BodyEdits, PromptFacts, PromptOwner } from '../llm-call-types.ts'
import { essenceOf, isJsonType } from '../llm-formats.ts'
import { AttemptBody } from './attempt-body.ts'
import type { AttemptBodySource } from './attempt-body.ts'
import { PromptOutline } from './prompt-outline.ts'
import type { WatchedMembers } from './prompt-outline.ts'
import { KeptBytes, PromptRewrite } from './prompt-rewrite.ts'

export interface PromptOptions {
  /** `nothing`: only the bytes that arrived with the head are read before `ready`. */
  readonly holdFor: 'model' | 'nothing'
  /** Bytes of one request, before an attempt takes it. */
  readonly maxHeldBytes: number
  /** A body up to this length is kept for a retry; 0 for none. */
  readonly maxKeptBytes: number
  /** `any`: the body is read as JSON whatever its content-type, which many providers ignore. */
  readonly types: 'json' | 'any'
  /** `pass`: a body that cannot be read is forwarded, and nothing more is known of it. Not for bodies that are edited. */
  readonly faults: 'refuse' | 'pass'
  /** The model of path or query, the only one that the body may name; null where only the body names it. */
  readonly model: string | null
  /** For the held and kept bytes of all requests. */
  readonly sharedBudget: ByteBudget
  /** The only members that edits may change. */
  readonly watchedMembers: WatchedMembers
}

/** Bytes that may arrive together with the model, before an attempt takes the body and the client is paused. */
const MAX_BYTES_AHEAD = 1_048_576

/** `gathering`: the bytes that arrived with the head are being delivered. `ready`: waiting for the next attempt. */
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
  /** All bytes since the first one, or none. */
  readonly #kept: KeptBytes
  #state: PromptBodyState = 'fresh'
  #sourceState: 'open' | 'ended' | Outcome = 'open'
  #trailers: HeaderFields | null = null
  #receivedBytes = 0
  readonly #encoded = new EncodedByteCounter()
  /** `knownCount` of the outline at the last call of the owner. */
  #reportedCount = 0
  #attemptBody: AttemptBody | null = null
  #reading: 'on' | 'off'

  constructor(body: Body, head: RequestHead, options: PromptOptions, owner: PromptOwner) {
    this.#source = body
    // Copied, because the body object of a connection is reused for its next request.
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

  /** The body cannot be read or edited: it is empty, compressed or not JSON. */
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

  /** The whole body has arrived. */
  get isWhole(): boolean {
    return this.#sourceState === 'ended'
  }

  /** The length of the body if the client declared it, otherwise the bytes received. */
  get size(): number {
    return Math.max(this.#length, this.#receivedBytes)
  }

  /** The same without encoded data, such as images in base64, as far as it was received. */
  get textSize(): number {
    return this.size - this.#encoded.count
  }

  /** Bytes received, without encoded data. */
  get receivedText(): number {
    return this.#receivedBytes - this.#encoded.count
  }

  /** The body is kept from its first byte, for another attempt. */
  get isReplayable(): boolean {
    return !this.#isLost && this.#kept.length === this.#receivedBytes
  }

  /** The same, and it is short enough to stay kept while it is sent. */
  get staysReplayable(): boolean {
    return this.isReplayable && this.size <= this.#options.maxKeptBytes
  }

  /** The bytes sent by the current attempt ask for usage, which the client did not do. */
  get asksForUsage(): boolean {
    return this.#attemptBody?.asksForUsage ?? false
  }

  /** The current attempt asks for usage, or may do so when more of the body is read. */
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
    assert(this.#state === 'ready', 'one attempt at a time')
    const { set, replace, defaults, usage } = edits
    const isEdited = set.size + replace.size + defaults.size > 0 || usage !== 'leave'
    const { sharedBudget } = this.#options
    const rewrite =
      isEdited && !this.isOpaque ? new PromptRewrite(this.#outline, edits, sharedBudget) : null
    const length = this.isWhole ? this.#receivedBytes : this.#length
    const sentLength = length < 0 ? -1 : length + (rewrite?.growth ?? 0)
    const framing = sentLength < 0 ? 'open' : sentLength === 0 ? 'none' : 'length'
    if (this.#framing !== 'none') this.#setContentLength(sentLength)
    this.#attemptBody = new AttemptBody(
      this,
      rewrite,
      this.#framing === 'none' ? 'none' : framing,
      sentLength,
    )
    return this.#attemptBody
  }

  /** Detaches the current attempt; the source pauses until the next one starts. */
  endAttempt(): void {
    this.#attemptBody?.detachSink()
    this.#attemptBody = null
    if (this.#state !== 'flowing') return
    this.#move('ready')
    if (this.#sourceState === 'open') this.#source.pause()
  }

  /** Releases the kept bytes; the body is not needed any more. */
  discard(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#attemptBody?.detachSink()
    this.#attemptBody = null
    this.#kept.release()
  }

  begin(body: AttemptBody): void {
    // An attempt that was ended may still start its body.
    if (body !== this.#attemptBody) return
    this.#move('flowing')
    for (const piece of this.#kept.pieces()) body.push(piece, 0, piece.length)
    if (this.#attemptBody !== body || this.#endsByFault()) return
    if (this.size > this.#options.maxKeptBytes) this.#kept.release()
    if (this.#sourceState === 'ended') body.finish(this.#trailers)
    else if (this.#sourceState !== 'open') body.cut(this.#sourceState)
    else if (!body.isFull) this.#source.resume()
  }

  pause(body: AttemptBody): void {
    if (body === this.#attemptBody && this.#sourceState === 'open') this.#source.pause()
  }

  resume(body: AttemptBody): void {
    if (body !== this.#attemptBody || this.#state !== 'flowing') return
    // After its end the source may already belong to the next request.
    if (this.#sourceState === 'open') this.#source.resume()
  }

  cancel(body: AttemptBody): void {
    if (body !== this.#attemptBody) return
    this.discard()
    this.#source.cancel()
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    if (this.#state === 'over') return true
    const wasKept = this.#kept.length === this.#receivedBytes
    this.#receivedBytes += to - from
    if (!this.isOpaque) {
      this.#outline.write(bytes, from, to)
      this.#encoded.add(bytes, from, to)
    }
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
    this.#sourceState = 'ended'
    this.#trailers = trailers
    if (!this.isOpaque) this.#outline.end()
    if (this.#endsByFault()) return
    if (this.#state === 'flowing') this.#attemptBody?.finish(trailers)
    this.#notifyOwner()
  }

  /** The client closed the connection, which ends the exchange. */
  cut(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#sourceState = outcome
    this.#kept.release()
    if (this.#state === 'flowing') this.#attemptBody?.cut(outcome)
  }

  /** The body is discarded, or the client closed the connection before its end. */
  get #isLost(): boolean {
    return this.#state === 'over' || (this.#sourceState !== 'open' && this.#sourceState !== 'ended')
  }

  get #takesMore(): boolean {
    if (this.#state === 'flowing') return this.#attemptBody?.isFull === false
    return this.#state !== 'ready'
  }

  /** Calls `ready` once enough is known, and `moreKnown` after that. */
  #notifyOwner(): void {
    if (this.#isLost) return
    if (this.#state === 'reading' && this.#isEnough) {
      this.#move('ready')
      this.#reportedCount = this.#outline.knownCount
      this.#owner.ready()
    } else if (this.#state === 'ready' || this.#state === 'flowing') {
      // The end of a body without a content-length makes its size known.
      const isMoreKnown =
        this.#reportedCount < this.#outline.knownCount || (this.isWhole && this.#length < 0)
      this.#reportedCount = this.#outline.knownCount
      if (isMoreKnown) this.#owner.moreKnown()
    }
  }

  get #isEnough(): boolean {
    if (this.isWhole || this.isOpaque || this.#options.holdFor === 'nothing') return true
    // After the last byte, `end` follows at once; then the edited length is exact and not an estimate.
    return this.#outline.isKnown('model') && this.#receivedBytes !== this.#length
  }

  /** The model is needed and not yet known. */
  get #isSearching(): boolean {
    if (this.isOpaque || this.#options.holdFor === 'nothing') return false
    return !this.#outline.isKnown('model')
  }

  /** Keeps bytes while no attempt takes them. */
  #hold(bytes: Buffer, from: number, to: number): boolean {
    const { maxHeldBytes, faults } = this.#options
    const maxBytes = this.#isSearching ? maxHeldBytes : Math.max(maxHeldBytes, MAX_BYTES_AHEAD)
    if (this.#kept.length + to - from > maxBytes) {
      if (!this.#isSearching || faults === 'refuse')
        return this.#fail(createPromptTooLargeError(this.size, maxHeldBytes))
      this.#reading = 'off'
    }
    return (
      this.#kept.add(bytes, from, to) || this.#fail(createPromptMemoryError(this.#kept.budgetLimit))
    )
  }

  /** Keeps bytes for another attempt while the current one sends them. */
  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.size > this.#options.maxKeptBytes || !this.#kept.add(bytes, from, to))
      this.#kept.release()
  }

  /** Ends the request after a fault in its JSON, unless such bodies are forwarded unread. */
  #endsByFault(): boolean {
    const { error } = this.#outline
    if (error === null || this.isOpaque) return false
    if (this.#options.faults === 'refuse') return !this.#fail(error)
    this.#reading = 'off'
    return false
  }

  /** -1 for a body of unknown length, which is sent chunked. */
  #setContentLength(length: number): void {
    if (length < 0) return
    const head = this.#head
    head.remove('transfer-encoding')
    if (head.get('content-length') !== String(length)) head.set('content-length', String(length))
  }

  /** The current attempt does not get the end of the body, so that no provider processes an incomplete request. */
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

function createPromptTooLargeError(size: number, maxBytes: number): GatewayError {
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: of ${size} bytes or more, the first ${maxBytes} do not contain the model ` +
      '(config.llm.maxHeldBytes)',
    { limit: ['maxHeldBytes', maxBytes] },
  )
}

function createPromptMemoryError(maxBytes: number): GatewayError {
  return new GatewayError(
    'POOL_EXHAUSTED',
    `too many bytes of other requests are held, at most ${maxBytes} (config.llm.maxHeldTogether): try again later`,
    { limit: ['maxHeldTogether', maxBytes] },
  )
}

export function isCompressedRequest(head: RequestHead): boolean {
  const encoding = head.get('content-encoding')
  return encoding !== undefined && encoding.trim().toLowerCase() !== 'identity'
}

/** A body without a content-type is read as JSON, as providers do. */
export function isJsonRequest(head: RequestHead): boolean {
  const type = head.get('content-type')
  if (type === undefined || type === 'application/json') return true
  return isJsonType(essenceOf(type))
}
