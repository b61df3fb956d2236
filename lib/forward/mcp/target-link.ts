// The words of the MCP side: a session reaches each of its targets by a link, whatever stands behind it.

import type { CallTrace, SentRequest, Trace } from '../../core/trace-events.ts'
import type { Reply } from '../../core/types.ts'
import type { RpcMessage } from './json-rpc.ts'

/**
 * Headers of the client's that go to a remote target, in lower case. `passthrough`: a credential, only for targets that
 * are to have it by their `createBackendAuthPolicy`.
 */
export type ForwardedHeaders = readonly (readonly [
  name: string,
  value: string,
  only?: 'passthrough',
])[]

/** Those for one target, by its name: it may have transformations of its own. */
export type ForwardedHeadersFor = (target: string) => ForwardedHeaders

/** A message on its way to a target. */
export interface OutgoingMessage {
  /** One JSON-RPC message without line breaks. */
  readonly bytes: Buffer
  /** The number the session gave this request as its id; 0 when it is no request. */
  readonly number: number
  /** What a remote target hears of the client's request. Child processes see none of it. */
  readonly fields: ForwardedHeaders
  /** Where somebody watches the client's request: links tell it when the message goes out, targets how it ended. */
  readonly traced?: TracedMessage | null
}

/** One session's connection to one target. */
export interface TargetLink {
  /** Throws nothing: what cannot be sent is told by `failed` or `closed`, in this tick or later. */
  send(message: OutgoingMessage): void
  /** Nobody waits for the answer to this request any more; the target has been sent `notifications/cancelled`. */
  forgetRequest(number: number): void
  /** Opens what brings messages that belong to no call, where the transport has such a thing. */
  listen(fields: ForwardedHeaders): void
  /** Stops reading from the target until `resume`: its session cannot take more. */
  pause(): void
  resume(): void
  /** Ends it, with all that belongs to it. `closed` follows unless it was told already. */
  close(): void
}

/** Who holds a link; each call comes from the event loop, never from within a call to the link. */
export interface TargetLinkOwner {
  /** Which session it is, for the log. */
  readonly label: string
  /**
   * A message from the target. `number` is the request it came with, where the transport knows; otherwise 0.
   * The bytes are the receiver's to keep.
   */
  received(message: RpcMessage, number: number): void
  /** This request will get no answer, but the link stands. `reply` is what the remote end said instead, if it did. */
  failed(number: number, reason: string, reply: Reply | null): void
  /** The link is gone for good, with every request under way on it. */
  closed(reason: string): void
  /** The remote end does not know the session any more: nothing of this request was done. */
  expired(number: number): void
}

// One message to a target while somebody watches: the call it becomes, in the target's scope, and how that ends.

/** A child has no status; these are what Streamable HTTP says of the same. */
const ANSWERED_STATUS = 200
const ACCEPTED_STATUS = 202

/** Null, and nothing is made, where nobody watches. */
export function traceMessage(
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
  sentByHttp(label: string, sent: SentRequest): CallTrace {
    this.#call = this.#trace.startCall(label, sent, [this.#target])
    return this.#call
  }

  /** It is written to a child. */
  writtenToChild(bytes: Buffer): void {
    const call = this.sentByHttp(this.#target, {})
    this.#written = call
    call.requestBodyTap.chunk(bytes, 0, bytes.length)
    call.requestBodyTap.end('complete')
  }

  /** A child has it, and that is all there is to wait for. */
  acceptedByChild(): void {
    this.#written?.recordStatus(ACCEPTED_STATUS)
  }

  /** The answer is there, be it a result or an error. */
  answered(): void {
    this.#written?.recordStatus(ANSWERED_STATUS)
  }

  /** There will be none. What was not sent yet is no call. */
  failed(reason: string): void {
    this.#call?.recordFailure(reason)
  }
}
