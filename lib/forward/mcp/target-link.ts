// The interface between a session and its targets: a link carries messages to a child process or a remote server.

import type { CallTrace, SentRequest, Trace } from '../../core/trace-events.ts'
import type { Reply } from '../../core/types.ts'
import type { RpcCode, RpcMessage } from './json-rpc.ts'

/**
 * Client headers that are forwarded to a remote target, in lower case. `passthrough` marks a credential that only
 * targets with backend auth `passthrough` get.
 */
export type ForwardedHeaders = readonly (readonly [
  name: string,
  value: string,
  only?: 'passthrough',
])[]

/** Returns the headers for one target by name; each target may have its own transformations. */
export type ForwardedHeadersFor = (target: string) => ForwardedHeaders

/** A message to a target. */
export interface OutgoingMessage {
  /** One JSON-RPC message without line breaks. */
  readonly bytes: Buffer
  /** The number that the session gave this request as its id; 0 if it is not a request. */
  readonly number: number
  /** Client headers for a remote target. Child processes get none of them. */
  readonly fields: ForwardedHeaders
  /** Set while the client's request is traced: the link reports the sending, the target the outcome. */
  readonly traced?: TracedMessage | null
}

/** One session's connection to one target. */
export interface TargetLink {
  /** Never throws: a failure is reported by `failed` or `closed`, in this tick or later. */
  send(message: OutgoingMessage): void
  /** Drops a cancelled request; the target has been sent `notifications/cancelled`. */
  forgetRequest(number: number): void
  /** Opens the stream for messages that belong to no request, if the transport has one. */
  listen(fields: ForwardedHeaders): void
  /** Stops reading from the target until `resume`: the session cannot take more. */
  pause(): void
  resume(): void
  /** Ends the link and releases its resources. `closed` follows unless it was called already. */
  close(): void
}

/** Receives the events of a link, always from the event loop and never inside a call to the link. */
export interface TargetLinkOwner {
  /** The session, which tells its children from those of others; labels may be equal. */
  readonly session: object
  /** Identifies the session in the log. */
  readonly label: string
  /**
   * A message from the target. `number` is the request whose response carried it, or 0 if the transport does not know.
   * The receiver may keep the bytes.
   */
  received(message: RpcMessage, number: number): void
  /**
   * The request gets no answer but the link stays open. `reply` is the HTTP error of a remote target, if any; `code` is
   * that of the error for the client.
   */
  failed(number: number, reason: string, reply: Reply | null, code?: RpcCode): void
  /** The link is closed for good, with every request that waits on it. */
  closed(reason: string): void
  /** The remote target does not know the session any more and has not processed this request. */
  expired(number: number): void
}

/** The reason of `failed` for an answer that is not a JSON-RPC response. */
export function describeInvalidResponse(target: string, why: string): string {
  return `target '${target}' sent an invalid response: ${why}`
}

/** A child process has no status; these are the statuses of Streamable HTTP for the same outcomes. */
const ANSWERED_STATUS = 200
const ACCEPTED_STATUS = 202

/** Returns null when the request is not traced. */
export function traceMessage(
  trace: Trace | null | undefined,
  target: string,
): TracedMessage | null {
  return trace === null || trace === undefined ? null : new TracedMessage(trace, target)
}

/** Records one message to a target as a backend call in the trace of the client's request. */
export class TracedMessage {
  readonly #trace: Trace
  readonly #target: string
  /** The latest call, if the message was sent again. */
  #call: CallTrace | null = null
  /** The call to a child process, which has no response head to record. */
  #childCall: CallTrace | null = null

  constructor(trace: Trace, target: string) {
    this.#trace = trace
    this.#target = target
  }

  sentByHttp(label: string, sent: SentRequest): CallTrace {
    this.#call = this.#trace.startCall(label, sent, [this.#target])
    return this.#call
  }

  /** `secrets` are the credentials that the child has from the gateway. */
  writtenToChild(bytes: Buffer, secrets: readonly string[] = []): void {
    for (const secret of secrets) this.#trace.addSecret(secret)
    const call = this.sentByHttp(`stdio:${this.#target}`, {})
    this.#childCall = call
    call.requestBodyTap.chunk(bytes, 0, bytes.length)
    call.requestBodyTap.end('complete')
  }

  /** A notification was written to a child, which does not answer it. */
  acceptedByChild(): void {
    this.#childCall?.recordStatus(ACCEPTED_STATUS)
  }

  /** The target sent a result or an error. */
  answered(): void {
    this.#childCall?.recordStatus(ANSWERED_STATUS)
  }

  /** No answer will come. A message that was not sent yet has no call to record. */
  failed(reason: string): void {
    this.#call?.recordFailure(reason)
  }
}
