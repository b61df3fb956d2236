// The words the verbs share. Shapes only: nothing here runs.

import type { Exchange } from './exchange.ts'
import type { GatewayError } from './errors.ts'
import type { HeaderFields, ResponseHead } from './head.ts'

/** How an exchange ended, as the access log tells it. */
export type Outcome =
  | 'complete'
  | 'client_closed'
  | 'client_error'
  | 'backend_reset'
  | 'backend_timeout'
  | 'idle'
  | 'shutdown'

/**
 * How connections leave. `now`: idle ones at once. `linger`: somebody else serves what comes anew, so idle ones may ask
 * once more, for a request may be on its way.
 */
export type DrainMode = 'now' | 'linger'

/**
 * How a body is delimited where it comes from. `chunked` can be handed on as it stands on the wire;
 * `open` is content whose end only its source knows (HTTP/2, or HTTP/1 until close).
 */
export type BodyFraming = 'none' | 'length' | 'chunked' | 'open'

/** `wire`: chunk sizes and trailers included, as received. `content`: the bytes they carry. */
export type BodyForm = 'wire' | 'content'

/**
 * A push source of bytes. `start` delivers at once, before it returns, what has already arrived, so that
 * a head and the first bytes behind it can leave in one write.
 */
export interface Body {
  readonly framing: BodyFraming
  /** Bytes to come when framing is `length`; otherwise -1. */
  readonly length: number
  start(sink: Sink, form: BodyForm): void
  pause(): void
  resume(): void
  /** Nobody wants the rest: release or destroy what it came from. */
  cancel(): void
}

/**
 * Where a body goes. The bytes are valid only during the call: the buffer may be the shared read buffer.
 * `write` → false means wait: the sink calls the body's `resume` when it has room again.
 */
export interface Sink {
  write(bytes: Buffer, from: number, to: number): boolean
  end(trailers: HeaderFields | null): void
  /** The source died: what was written so far must not look whole. */
  cut(outcome: Outcome): void
}

/** The backend's end of an upgraded connection: what the client sends from now on goes there as it is. */
export interface Tunnel {
  connectSource(source: Body): void
}

/** What a policy, the gateway itself or a backend answers. */
export interface Reply {
  readonly head: ResponseHead
  readonly body: Body
  /** Set when the answer is 101 and the connection now speaks something else. */
  readonly tunnel: Tunnel | null
}

/** The client's side of an exchange: the one door out. */
export interface ExchangeClient {
  /** Bytes of the answer's body that went out so far. */
  readonly bytesWritten: number
  sendInterim(head: ResponseHead): void
  respond(exchange: Exchange, reply: Reply): void
  /** Ends the client's stream so that it cannot be taken for complete. */
  cut(): void
}

/** A call under way to a backend, before its answer. */
export interface CancellableCall {
  cancel(): void
}

/** One try at having an exchange answered; the exchange itself is the plain one. */
export interface Attempt {
  readonly body: Body
  answer(reply: Reply): void
  fail(error: GatewayError): void
}

export interface Backend {
  /** Where it is, as the log tells it: host:port. */
  readonly endpoint: string
  /** How its clients want to hear of errors, where the route alone does not tell. */
  errorFormatFor?(exchange: Exchange): ErrorFormat
  /** Ends in `attempt.answer` or `attempt.fail`, now or later. */
  call(exchange: Exchange, attempt: Attempt): void
}

/** What the gateway does with an exchange as it moves on; one object serves all exchanges. */
export interface ExchangeHandler {
  /** The request head arrived on this port. */
  serve(exchange: Exchange, port: number): void
  /** The request body is known: runs the policies that limit by it. `estimate` is in tokens. */
  admit(exchange: Exchange, estimate: number): Verdict
  onReply(exchange: Exchange, reply: Reply): void
  onFailure(exchange: Exchange, error: GatewayError): void
  onSettled(exchange: Exchange): void
}

/** A policy's word on a request: a reply instead of the backend's, or nothing. A promise only where it must wait. */
export type Verdict = Reply | undefined | Promise<Reply | undefined>

/** May answer instead of the backend, or change the request; may add to the reply. Never both at once. */
export interface Policy {
  readonly kind: string
  request?(exchange: Exchange): Verdict
  /** Runs when the body of an LLM request is known; adds to `enforcement.charges` what it took. */
  admit?(exchange: Exchange, estimate: number): Verdict
  response?(exchange: Exchange, head: ResponseHead): void
}

/** How errors of the gateway are told: as text, or in the form the client's protocol has for them. */
export type ErrorFormat = 'text' | 'jsonrpc' | 'openai' | 'anthropic'

/** Watches a body's content as it passes; cannot change, delay or fail it. The bytes are valid only during the call. */
export interface Tap {
  chunk(bytes: Buffer, from: number, to: number): void
  /** Exactly once; `complete` before the client can know of it. */
  end(outcome: Outcome): void
}

/** What an LLM request cost in tokens, normalised: cached ones count as input. */
export interface TokenCost {
  readonly input: number
  readonly output: number
  /** `estimated`: the provider did not say, or nobody stayed to hear it. */
  readonly basis: 'counted' | 'estimated'
}

/** Tokens taken from a budget before they are known. Whoever holds it settles it, whatever happens. */
export interface Charge {
  /** More of the request is known now: its estimate grows by so many tokens. */
  raise(tokens: number): void
  /** Only the first call counts. */
  settle(cost: TokenCost): void
}

/** A policy that limits tokens. */
export interface TokenLimitPolicy extends Policy {
  admit(exchange: Exchange, estimate: number): Verdict
}

/** What is left of the tightest budget a request met, for its answer's headers. */
export interface Allowance {
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until there is more. */
  readonly reset: number
}

/** Where the bytes of an exchange came from. */
export interface ClientAddress {
  readonly address: string
  readonly port: number
  /** Both, as the log tells them. */
  readonly label: string
  readonly secure: boolean
}
