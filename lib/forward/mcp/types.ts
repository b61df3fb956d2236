// The words of the MCP side: a session reaches each of its targets by a link, whatever stands behind it.

import type { Reply } from '../../base/types.ts'
import type { Message } from './message.ts'
import type { TracedMessage } from './traced-message.ts'

/**
 * Headers of the client's that go to a remote target, in lower case. `passthrough`: a credential, only for targets that
 * are to have it by their `backendAuth`.
 */
export type SentFields = readonly (readonly [name: string, value: string, only?: 'passthrough'])[]

/** Those for one target, by its name: it may have transformations of its own. */
export type FieldsFor = (target: string) => SentFields

/** A message on its way to a target. */
export interface Outgoing {
  /** One JSON-RPC message without line breaks. */
  readonly bytes: Buffer
  /** The number the session gave this request as its id; 0 when it is no request. */
  readonly number: number
  /** What a remote target hears of the client's request. Child processes see none of it. */
  readonly fields: SentFields
  /** Where somebody watches the client's request: links tell it when the message goes out, targets how it ended. */
  readonly traced?: TracedMessage | null
}

/** One session's connection to one target. */
export interface Link {
  /** Throws nothing: what cannot be sent is told by `failed` or `closed`, in this tick or later. */
  send(message: Outgoing): void
  /** Nobody waits for the answer to this request any more; the target has been sent `notifications/cancelled`. */
  forget(number: number): void
  /** Opens what brings messages that belong to no call, where the transport has such a thing. */
  listen(fields: SentFields): void
  /** Stops reading from the target until `resume`: its session cannot take more. */
  pause(): void
  resume(): void
  /** Ends it, with all that belongs to it. `closed` follows unless it was told already. */
  close(): void
}

/** Who holds a link; each call comes from the event loop, never from within a call to the link. */
export interface LinkOwner {
  /** Which session it is, for the log. */
  readonly label: string
  /**
   * A message from the target. `number` is the request it came with, where the transport knows; otherwise 0.
   * The bytes are the receiver's to keep.
   */
  received(message: Message, number: number): void
  /** This request will get no answer, but the link stands. `reply` is what the remote end said instead, if it did. */
  failed(number: number, reason: string, reply: Reply | null): void
  /** The link is gone for good, with every request under way on it. */
  closed(reason: string): void
  /** The remote end does not know the session any more: nothing of this request was done. */
  expired(number: number): void
}
