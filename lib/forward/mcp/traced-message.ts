// One message to a target while somebody watches: the call it becomes, in the target's scope, and how that ends.

import type { SentRequest } from '../../base/trace/events.ts'
import type { Trace } from '../../base/trace/events.ts'
import type { CallTrace } from '../../base/trace/events.ts'

/** A child has no status; these are what Streamable HTTP says of the same. */
const ANSWERED = 200
const TAKEN = 202

/** Null, and nothing is made, where nobody watches. */
export function tracedMessage(
  trace: Trace | null | undefined,
  target: string,
): TracedMessage | null {
  return trace === null || trace === undefined ? null : new TracedMessage(trace, target)
}

export class TracedMessage {
  readonly #trace: Trace
  readonly #target: string
  /** The last, where it was sent again. */
  #call: CallTrace | null = null
  /** Of a child: no head tells of its answer. */
  #written: CallTrace | null = null

  constructor(trace: Trace, target: string) {
    this.#trace = trace
    this.#target = target
  }

  /** It goes out by HTTP. */
  called(label: string, sent: SentRequest): CallTrace {
    this.#call = this.#trace.calling(label, sent, [this.#target])
    return this.#call
  }

  /** It is written to a child. */
  written(bytes: Buffer): void {
    const call = this.called(this.#target, {})
    this.#written = call
    call.body.chunk(bytes, 0, bytes.length)
    call.body.end('complete')
  }

  /** A child has it, and that is all there is to wait for. */
  taken(): void {
    this.#written?.done(TAKEN)
  }

  /** The answer is there, be it a result or an error. */
  answered(): void {
    this.#written?.done(ANSWERED)
  }

  /** There will be none. What was not sent yet is no call. */
  failed(reason: string): void {
    this.#call?.failed(reason)
  }
}
