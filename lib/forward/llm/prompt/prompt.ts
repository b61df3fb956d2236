// The body of an LLM request: read ahead as far as a decision needs it, then passed on, edited on its way, to one provider
// after the other. What need not be held is not.
//
// `start` reads. `ready` comes once, when what `holdFor` names is known; from then on the client waits until a try takes
// the body. `bodyWith` makes the body of a try and sets the head's content-length for it: call it behind whatever restores
// the head between tries. For another try, call `release`, ask `isReplayable`, and call `bodyWith` again. `done` gives back
// what is held; call it at the end, whatever the end.

import assert from 'node:assert'
import type { Budget } from '../../../base/bounds/budget.ts'
import type { GatewayError } from '../../../base/errors.ts'
import type { Body, Framing, Outcome, Sink } from '../../../base/types.ts'
import type { Fields, RequestHead } from '../../../base/wire/head.ts'
import type { BodyEdits, PromptFacts, PromptOwner } from '../types.ts'
import { noRoom, tooLarge } from './faults.ts'
import { isCompressed, isJson } from './is-json.ts'
import { Kept } from './kept.ts'
import { Outline } from './outline.ts'
import { Rewrite } from './rewrite.ts'
import { TryBody } from './try-body.ts'
import type { TrySource } from './try-body.ts'
import type { Watched } from './watched.ts'

/** The same for all requests of a route. */
export interface PromptOptions {
  /** `nothing`: only what comes with the head is looked at before the decision. */
  readonly holdFor: 'model' | 'nothing'
  /** Of one request, before a try takes it. */
  readonly maxHeldBytes: number
  /** A body up to this length is kept for another try; 0 for none. */
  readonly keep: number
  /** `any`: it is JSON whatever its type says, as many providers do not look at that. */
  readonly types: 'json' | 'any'
  /** `pass`: what cannot be read goes on all the same, and nothing more is known of it. Not for bodies that are edited. */
  readonly faults: 'refuse' | 'pass'
  /** Named in front of the body, which must not name another; null where only the body may name one. */
  readonly model: string | null
  /** What all requests may hold and keep. */
  readonly together: Budget
  /** Edits may name these members, and no others. */
  readonly watched: Watched
}

/** `gathering`: what has come already is being delivered. `ready`: the next try is awaited. */
type State = 'fresh' | 'gathering' | 'reading' | 'ready' | 'flowing' | 'over'

const MOVES: Record<State, readonly State[]> = {
  fresh: ['gathering', 'over'],
  gathering: ['reading', 'over'],
  reading: ['ready', 'over'],
  ready: ['flowing', 'over'],
  flowing: ['ready', 'over'],
  over: [],
}

export class Prompt implements PromptFacts, Sink, TrySource {
  readonly #source: Body
  readonly #framing: Framing
  readonly #length: number
  readonly #head: RequestHead
  readonly #options: PromptOptions
  readonly #owner: PromptOwner
  readonly #outline: Outline
  /** From the first byte on, or nothing. */
  readonly #kept: Kept
  #state: State = 'fresh'
  #coming: 'more' | 'nothing' | Outcome = 'more'
  #trailers: Fields | null = null
  #size = 0
  /** How much of the outline the owner has heard of. */
  #told = 0
  #try: TryBody | null = null
  #reading: 'on' | 'off'

  constructor(body: Body, head: RequestHead, options: PromptOptions, owner: PromptOwner) {
    this.#source = body
    // A connection's body is another when its next request comes.
    this.#framing = body.framing
    this.#length = body.length
    this.#head = head
    this.#options = options
    this.#owner = owner
    this.#outline = new Outline(options.watched, options.model)
    this.#kept = new Kept(options.together)
    const isReadable = !isCompressed(head) && (options.types === 'any' || isJson(head))
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
    return this.#coming === 'nothing'
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
  get isAsking(): boolean {
    return this.#try?.isAsking ?? false
  }

  /** The try under way does so, or may do so yet: what stands in its body is not known to the end. */
  get mayAsk(): boolean {
    return this.#try?.mayAsk ?? false
  }

  start(): void {
    this.#move('gathering')
    this.#source.start(this, 'content')
    if (this.#state !== 'gathering') return
    this.#move('reading')
    this.#tell()
  }

  bodyWith(edits: BodyEdits): TryBody {
    assert(this.#state === 'ready', 'one try after the other')
    const { set, replace, defaults, usage } = edits
    const isEdited = set.size + replace.size + defaults.size > 0 || usage === 'ask'
    const { together } = this.#options
    const rewrite = isEdited && !this.isOpaque ? new Rewrite(this.#outline, edits, together) : null
    const length = this.isWhole ? this.#size : this.#length
    const framed = length < 0 ? -1 : length + (rewrite?.growth ?? 0)
    const framing = framed < 0 ? 'open' : framed === 0 ? 'none' : 'length'
    if (this.#framing !== 'none') this.#frame(framed)
    this.#try = new TryBody(this, rewrite, this.#framing === 'none' ? 'none' : framing, framed)
    return this.#try
  }

  /** The try that was reading is over; what comes now waits for the next one. */
  release(): void {
    this.#try?.takeSink()
    this.#try = null
    if (this.#state !== 'flowing') return
    this.#move('ready')
    if (this.#coming === 'more') this.#source.pause()
  }

  /** Nobody wants any of it any more. */
  done(): void {
    if (this.#state !== 'over') this.#move('over')
    this.#try?.takeSink()
    this.#try = null
    this.#kept.drop()
  }

  begin(body: TryBody): void {
    // Whoever asks may not have heard that its try was given up.
    if (body !== this.#try) return
    this.#move('flowing')
    for (const piece of this.#kept.pieces()) body.push(piece, 0, piece.length)
    if (this.#try !== body || this.#endsByFault()) return
    if (this.size > this.#options.keep) this.#kept.drop()
    if (this.#coming === 'nothing') body.finish(this.#trailers)
    else if (this.#coming !== 'more') body.cut(this.#coming)
    else if (!body.isFull) this.#source.resume()
  }

  pause(body: TryBody): void {
    if (body === this.#try && this.#coming === 'more') this.#source.pause()
  }

  resume(body: TryBody): void {
    if (body !== this.#try || this.#state !== 'flowing') return
    // Behind the end it may be another request's already.
    if (this.#coming === 'more') this.#source.resume()
  }

  cancel(body: TryBody): void {
    if (body !== this.#try) return
    this.done()
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
      this.#try?.push(bytes, from, to)
      if (this.#endsByFault()) return false
    } else if (!wasKept || !this.#hold(bytes, from, to)) return false
    this.#tell()
    return this.#takesMore
  }

  end(trailers: Fields | null): void {
    if (this.#state === 'over') return
    this.#coming = 'nothing'
    this.#trailers = trailers
    if (!this.isOpaque) this.#outline.end()
    if (this.#endsByFault()) return
    if (this.#state === 'flowing') this.#try?.finish(trailers)
    this.#tell()
  }

  /** The client is gone, and with it the exchange. */
  cut(outcome: Outcome): void {
    if (this.#state === 'over') return
    this.#coming = outcome
    this.#kept.drop()
    if (this.#state === 'flowing') this.#try?.cut(outcome)
  }

  /** The client has left, or it is of no use any more. */
  get #isLost(): boolean {
    return this.#state === 'over' || (this.#coming !== 'more' && this.#coming !== 'nothing')
  }

  get #takesMore(): boolean {
    if (this.#state === 'flowing') return this.#try?.isFull === false
    return this.#state !== 'ready'
  }

  /** Tells the owner what it waits for, or what is new since. */
  #tell(): void {
    if (this.#isLost) return
    if (this.#state === 'reading' && this.#isEnough) {
      this.#move('ready')
      this.#told = this.#outline.known
      this.#owner.ready()
    } else if (this.#state === 'ready' || this.#state === 'flowing') {
      // Of a body without a length, its end is news too.
      const isNews = this.#told < this.#outline.known || (this.isWhole && this.#length < 0)
      this.#told = this.#outline.known
      if (isNews) this.#owner.learnt()
    }
  }

  get #isEnough(): boolean {
    if (this.isWhole || this.isOpaque || this.#options.holdFor === 'nothing') return true
    // With the last byte here, its end is about to be told, and a whole body needs no guess of its length.
    return this.#outline.isSettled('model') && this.#size !== this.#length
  }

  /** The decision waits for the model, and all that has come does not tell it. */
  get #isSearching(): boolean {
    if (this.isOpaque || this.#options.holdFor === 'nothing') return false
    return !this.#outline.isSettled('model')
  }

  /** While no try takes it. */
  #hold(bytes: Buffer, from: number, to: number): boolean {
    const { maxHeldBytes, keep, faults } = this.#options
    const most = this.#isSearching ? maxHeldBytes : Math.max(maxHeldBytes, keep)
    if (this.#kept.length + to - from > most) {
      if (!this.#isSearching || faults === 'refuse')
        return this.#fail(tooLarge(this.size, maxHeldBytes))
      this.#reading = 'off'
    }
    return this.#kept.add(bytes, from, to) || this.#fail(noRoom(this.#kept.most))
  }

  /** While one does, for the next. */
  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.size > this.#options.keep || !this.#kept.add(bytes, from, to)) this.#kept.drop()
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
  #frame(length: number): void {
    if (length < 0) return
    const head = this.#head
    head.remove('transfer-encoding')
    if (head.get('content-length') !== String(length)) head.set('content-length', String(length))
  }

  /** A try under way never sees the end, so that no provider takes what it got for a request. */
  #fail(error: GatewayError): false {
    this.done()
    this.#owner.failed(error)
    return false
  }

  #move(to: State): void {
    if (!MOVES[this.#state].includes(to)) throw new Error(`prompt: ${this.#state} → ${to}`)
    this.#state = to
  }
}
