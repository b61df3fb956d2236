// One request and its answer, from the accepted head to the log line. It holds what the verbs learn, and
// moves through its phases in one direction; `settle` runs exactly once, whoever ends it.

import assert from 'node:assert'
import { NO_CHARGES } from './cost.ts'
import { GatewayError } from './errors.ts'
import type { BackendFacts, Facts } from './cel/facts.ts'
import type { Trace } from './trace/events.ts'
import type {
  Allowance,
  Body,
  Call,
  Charge,
  Client,
  Cost,
  Dialect,
  Peer,
  Outcome,
  Policy,
  Reply,
  Steps,
} from './types.ts'
import type { RequestHead } from './wire/head.ts'

/** What a client showed, and where it stood. */
export interface Credential {
  readonly kind: 'header' | 'query' | 'cookie'
  readonly name: string
  /** As it was written: a header's value, a parameter or a cookie with its name. */
  readonly text: string
}

/** Which verb has the exchange in hand. */
export type Phase = 'choose' | 'forward' | 'relay' | 'settled'

export class Exchange {
  readonly source: Peer
  readonly request: RequestHead
  readonly body: Body
  readonly client: Client
  readonly steps: Steps
  readonly started = performance.now()
  /** The request's target as it came, whatever policies make of it. */
  readonly target: string
  phase: Phase = 'choose'
  /** Keys of the listener and the route that were chosen; '' until then. */
  listener = ''
  route = ''
  dialect: Dialect = 'text'
  /** Where the backend was reached: host:port, or the names of MCP targets. */
  endpoint = ''
  /** The backend that was picked, for rules, traces and the log; null until then. */
  backend: BackendFacts | null = null
  /** The path prefix by which the route matched, for policies that replace it. */
  matchedPrefix = ''
  /** What Host says to the backend by a policy's word; null leaves it to the backend's rule. */
  hostRewrite: string | null = null
  /** The request's Origin once `cors` has let it in; a later policy may remove the header. */
  allowedOrigin = ''
  /** What policies and backends learnt, for rules, traces and the log; null until there is something. */
  facts: Facts | null = null
  /** Verified and taken off the request, for a backend that is to have them all the same. */
  credentials: readonly Credential[] = []
  /** Tokens taken in advance; settled at the latest when the exchange is. */
  charges: readonly Charge[] = NO_CHARGES
  /** What they are settled with, as far as it is known; null while no token limit was asked. */
  spent: Cost | null = null
  /** Set while somebody still counts what has passed: calls back when that is done. */
  counting: ((done: () => void) => void) | null = null
  /** Lets go of what only this exchange needed, when it is settled. */
  release: (() => void) | null = null
  /** What was sent of its body, for another try: of no use once there is an answer. */
  kept: { forget(): void } | null = null
  /** Of the tightest limit it met so far. */
  allowance: Allowance | null = null
  /** What a rate limit service wants to stand on its answer, by name and value. */
  limitFields: readonly (readonly [name: string, value: string])[] = []
  /** Why a policy refused it, by class, for the log; '' when none did. */
  refusal = ''
  /** Which of its rules did, counted from 0; -1 where none alone did. */
  refusedBy = -1
  /** Whoever serves it counts it and tells of it. */
  servedBy: 'this worker' | 'another worker' = 'this worker'
  /** Policies with a say in the answer, in the order in which they ran. */
  policies: readonly Policy[] = []
  /** Set for the one request that somebody watches. */
  trace: Trace | null = null
  /** The call to cancel while no answer is there. */
  call: Call | null = null
  reply: Reply | null = null
  /** The answer is a stream of events; known once it is relayed. */
  isStream = false
  status = 0
  /** When a backend was first asked, and when the answer's head was there; 0 until then. */
  asked = 0
  answered = 0
  /** Tries behind the first. */
  retries = 0
  /** Which policy answered; '' when none did. */
  answeredBy = ''
  outcome: Outcome = 'complete'
  error: GatewayError | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(source: Peer, request: RequestHead, body: Body, client: Client, steps: Steps) {
    this.source = source
    this.request = request
    this.target = request.target
    this.body = body
    this.client = client
    this.steps = steps
  }

  /** An answer is on its way out, or nobody is there to have one: whoever waited in between has nothing to add. */
  get isAnswered(): boolean {
    return this.phase === 'relay' || this.phase === 'settled'
  }

  /** Adds facts; those in hand stay as they are, for another try begins with them. */
  learn(more: Facts): void {
    // As a literal with a spread it would cost V8 a microsecond or two for each member behind that.
    this.facts = Object.assign({}, this.facts, more)
  }

  /** The route's `timeout.requestTimeout`: to the answer's head, never into its body. */
  limit(ms: number): void {
    this.#timer = setTimeout(
      () => this.fail(new GatewayError('REQUEST_TIMEOUT', 'request timeout')),
      ms,
    )
  }

  /** The answer's head is there: from a backend, a policy or the gateway itself. */
  answer(reply: Reply): void {
    if (this.phase === 'settled') return reply.body.cancel()
    assert(this.reply === null, 'an exchange is answered once')
    this.call = null
    this.kept?.forget()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.steps.answer(this, reply)
  }

  /** Something went wrong: an error reply if none is out yet, otherwise a cut. */
  fail(error: GatewayError, outcome: Outcome = outcomeOf(error)): void {
    if (this.phase === 'settled') return
    this.error = error
    if (this.phase === 'relay') return this.cut(outcome)
    this.#cancel()
    this.outcome = outcome
    this.steps.fail(this, error)
  }

  /** Ends the client's stream in the middle. */
  cut(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.#cancel()
    this.client.cut()
    this.settle(outcome)
  }

  /** The client is gone: nobody is left to answer, so the backend call ends in the same tick. */
  abandon(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.#cancel()
    this.settle(outcome)
  }

  /** The last byte is out, or never will be. */
  settle(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.phase = 'settled'
    // An error reply that arrived whole still ends as the error did.
    if (outcome !== 'complete') this.outcome = outcome
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.kept?.forget()
    this.release?.()
    this.steps.settle(this)
  }

  #cancel(): void {
    const { call, reply } = this
    this.call = null
    call?.cancel()
    reply?.body.cancel()
  }
}

/** What an error means for the log when no client's departure or shutdown explains it better. */
function outcomeOf(error: GatewayError): Outcome {
  switch (error.code) {
    case 'CONNECT_TIMEOUT':
    case 'BACKEND_TIMEOUT':
    case 'REQUEST_TIMEOUT':
      return 'backend_timeout'
    case 'HEAD_TIMEOUT':
    case 'BODY_TIMEOUT':
      return 'idle'
  }
  if (error.source === 'backend') return 'backend_reset'
  return error.source === 'client' ? 'client_error' : 'complete'
}
