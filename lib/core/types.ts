// Types that all stages of a request share; nothing here runs.

import type { Exchange } from './exchange.ts'
import type { GatewayError } from './errors.ts'
import type { HeaderFields, ResponseHead } from './head.ts'

/** How an exchange ended, as the access log shows it. */
export type Outcome =
  | 'complete'
  | 'client_closed'
  | 'client_error'
  | 'backend_reset'
  | 'backend_timeout'
  | 'idle'
  | 'shutdown'

/**
 * How connections close when a listener drains. `now`: idle ones at once. `linger`: another process serves new
 * connections, so idle ones may send one more request, which may already be on its way.
 */
export type DrainMode = 'now' | 'linger'

/**
 * How a body is delimited at its source. `chunked` can be forwarded with its framing; `open` has no length, only its
 * source knows its end (HTTP/2, or HTTP/1 until close).
 */
export type BodyFraming = 'none' | 'length' | 'chunked' | 'open'

/** `wire`: as received, with chunk sizes and trailers. `content`: without them. */
export type BodyForm = 'wire' | 'content'

/**
 * A push source of bytes. `start` delivers what has already arrived before it returns, so that a head and the first
 * bytes after it can be sent in one write.
 */
export interface Body {
  readonly framing: BodyFraming
  /** Bytes to come when framing is `length`; otherwise -1. */
  readonly length: number
  start(sink: Sink, form: BodyForm): void
  pause(): void
  resume(): void
  /** The rest is not needed: releases or destroys the source. */
  cancel(): void
}

/**
 * The destination of a body. The bytes are valid only during the call: they may be in the shared read buffer.
 * If `write` returns false, the source waits until the sink calls the body's `resume`.
 */
export interface Sink {
  write(bytes: Buffer, from: number, to: number): boolean
  end(trailers: HeaderFields | null): void
  /** The source failed: what was written so far must not look complete. */
  cut(outcome: Outcome): void
}

/** The backend side of an upgraded connection: it receives all further bytes of the client. */
export interface Tunnel {
  connectSource(source: Body): void
}

/** The response of a policy, of the gateway itself or of a backend. */
export interface Reply {
  readonly head: ResponseHead
  readonly body: Body
  /** Set if the response is 101 and the connection changes its protocol. */
  readonly tunnel: Tunnel | null
}

/** The client side of an exchange: the only way a response is sent. */
export interface ExchangeClient {
  /** Bytes of the response body sent so far. */
  readonly bytesWritten: number
  sendInterim(head: ResponseHead): void
  respond(exchange: Exchange, reply: Reply): void
  /** Ends the client's stream so that it cannot look complete. */
  cut(): void
}

/** A pending call to a backend, before its response. */
export interface CancellableCall {
  cancel(): void
}

/** One attempt to get a response for an exchange; the exchange itself is the default one. */
export interface Attempt {
  readonly body: Body
  answer(reply: Reply): void
  fail(error: GatewayError): void
}

export interface Backend {
  /** Its address in the log: host:port. */
  readonly endpoint: string
  /** The error format for its clients, if the route alone does not determine it. */
  errorFormatFor?(exchange: Exchange): ErrorFormat
  /** Ends with `attempt.answer` or `attempt.fail`, now or later. */
  call(exchange: Exchange, attempt: Attempt): void
}

/** Handles the events of an exchange; one object serves all exchanges. */
export interface ExchangeHandler {
  /** The request head arrived on this port. */
  serve(exchange: Exchange, port: number): void
  /** The request body is known: runs the policies that limit by it. `estimate` is in tokens. */
  admit(exchange: Exchange, estimate: TokenEstimate): Verdict
  onReply(exchange: Exchange, reply: Reply): void
  onFailure(exchange: Exchange, error: GatewayError): void
  onSettled(exchange: Exchange): void
}

/** The decision of a policy: a reply instead of the backend's, or undefined. A promise only if it must wait. */
export type Verdict = Reply | undefined | Promise<Reply | undefined>

/** A policy may answer or change the request, and may change the response head. */
export interface Policy {
  readonly kind: string
  request?(exchange: Exchange): Verdict
  /** Runs when the body of an LLM request is known; adds to `enforcement.charges` what it took. */
  admit?(exchange: Exchange, estimate: TokenEstimate): Verdict
  response?(exchange: Exchange, head: ResponseHead): void
}

/** The format of errors that the gateway sends: text, or that of the client's protocol. */
export type ErrorFormat = 'text' | 'jsonrpc' | 'openai' | 'anthropic'

/** Observes the content of a body; it cannot change, delay or fail it. The bytes are valid only during the call. */
export interface Tap {
  chunk(bytes: Buffer, from: number, to: number): void
  /** Called exactly once; with `complete` before the client can see the end. */
  end(outcome: Outcome): void
}

/** The cost of an LLM request in tokens, normalised: cached tokens count as input. */
export interface TokenCost {
  readonly input: number
  readonly output: number
  /** `estimated`: the provider did not report it, or the client closed the connection before the report. */
  readonly basis: 'counted' | 'estimated'
}

/** What an LLM request may cost in tokens, as far as the request shows. */
export interface TokenEstimate {
  /** The model of the request; null if it names none. */
  readonly model: string | null
  readonly input: number
  readonly output: number
  /** The most output that the request allows; null if it sets no maximum. */
  readonly maxOutput: number | null
}

/** Tokens charged to a budget before the actual cost is known. Its holder settles it in every case. */
export interface Charge {
  /** More of the request is known. A lower estimate does not lower the charge. */
  raise(estimate: TokenEstimate): void
  /** Only the first call has an effect. */
  settle(cost: TokenCost): void
}

/** A policy that limits tokens. */
export interface TokenLimitPolicy extends Policy {
  admit(exchange: Exchange, estimate: TokenEstimate): Verdict
}

/** What is left of the tightest budget of a request, for the headers of its response. */
export interface Allowance {
  readonly limit: number
  readonly remaining: number
  /** Whole seconds until more is available. */
  readonly reset: number
}

/** The address of the client of an exchange. */
export interface ClientAddress {
  readonly address: string
  readonly port: number
  /** Address and port, as the log shows them. */
  readonly label: string
  readonly secure: boolean
}
