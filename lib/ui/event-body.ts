// An event stream on a gateway's listener: what is written leaves in the same tick, or waits while the client takes no
// more.

import type { EventOut } from '../base/sse/event-out.ts'
import { KeptOut } from '../base/sse/kept-out.ts'
import type { Pace } from '../base/sse/kept-out.ts'
import type { Body, Form, Framing, Sink } from '../base/types.ts'

/** `unread`: nobody has asked for it yet. `held`: the client takes no more for now. */
type State = 'unread' | 'flowing' | 'held' | 'over'

export class EventBody implements Body, EventOut {
  readonly framing: Framing = 'open'
  readonly length = -1
  readonly #open: (out: EventOut) => () => void
  readonly #pace: Pace
  #state: State = 'unread'
  #rest: 'open' | 'last' = 'open'
  #sink: Sink | null = null
  /** Bounded by whoever looks after it. */
  #queue: string[] = []
  #acts: (() => void)[] = []
  #kept: KeptOut | null = null
  #leave: (() => void) | null = null

  /** `open` is called when it is read, or never; what that returns is called once nobody reads it any more. */
  constructor(open: (out: EventOut) => () => void, pace: Pace) {
    this.#open = open
    this.#pace = pace
  }

  get isFull(): boolean {
    return this.#state === 'held'
  }

  start(sink: Sink, _form: Form): void {
    if (this.#state !== 'unread') return
    this.#sink = sink
    this.#state = 'flowing'
    this.#kept = new KeptOut(this, this.#pace)
    this.#leave = this.#open(this.#kept)
    // The client may have left, or the source ended, in the meantime.
    if (this.#isOver) this.#part()
  }

  pause(): void {
    if (this.#state === 'flowing') this.#state = 'held'
  }

  resume(): void {
    if (this.#state !== 'held') return
    this.#state = 'flowing'
    this.#flush()
    if (this.#state === 'flowing') for (const act of this.#acts) act()
  }

  cancel(): void {
    this.#close()
  }

  write(text: string): void {
    if (this.#isOver || this.#rest === 'last') return
    this.#queue.push(text)
    this.#flush()
  }

  onRoom(act: () => void): void {
    this.#acts.push(act)
  }

  end(): void {
    this.#rest = 'last'
    this.#flush()
  }

  destroy(): void {
    const sink = this.#sink
    this.#close()
    sink?.cut('idle')
  }

  #flush(): void {
    while (this.#state === 'flowing' && this.#queue.length > 0) {
      const bytes = Buffer.from(this.#queue.shift()!)
      if (!this.#sink!.write(bytes, 0, bytes.length)) this.pause()
    }
    if (this.#state !== 'flowing' || this.#rest === 'open') return
    const sink = this.#sink!
    this.#close()
    sink.end(null)
  }

  get #isOver(): boolean {
    return this.#state === 'over'
  }

  #close(): void {
    this.#state = 'over'
    this.#sink = null
    this.#queue = []
    this.#acts = []
    this.#part()
  }

  #part(): void {
    this.#kept?.close()
    const leave = this.#leave
    this.#leave = null
    leave?.()
  }
}
