// One request and its response, from the accepted head to the log line. It holds what each stage learns, and moves
// through its phases in one direction; `settle` runs exactly once, on every path.

import assert from 'node:assert'
import type { Secret } from '../text/secret.ts'
import { normalizeAuthority } from './addresses.ts'
import { GatewayError } from './errors.ts'
import type { BackendFacts, ExchangeFacts } from './facts.ts'
import type { RequestHead } from './head.ts'
import type { Trace } from './trace-events.ts'
import type {
  Allowance,
  Body,
  CancellableCall,
  Charge,
  ClientAddress,
  ErrorFormat,
  ExchangeClient,
  ExchangeHandler,
  Outcome,
  Policy,
  Reply,
  TokenCost,
} from './types.ts'

/** A credential that a client presented, and where it was found. */
export interface PresentedCredential {
  readonly kind: 'header' | 'query' | 'cookie'
  readonly name: string
  /** As received: the value of a header, or a parameter or cookie with its name. */
  readonly text: string
}

/** The stage that works on the exchange. */
export type ExchangePhase = 'choose' | 'forward' | 'relay' | 'settled'

// Shared by all exchanges, so that an exchange does not allocate lists that most leave empty.
const NO_POLICIES: readonly Policy[] = []
const NO_SECRETS: readonly Secret[] = []
const NO_CREDENTIALS: readonly PresentedCredential[] = []
const NO_HEADERS: readonly (readonly [name: string, value: string])[] = []

/** The listener, route and backend of a request. Written by `serve.ts`. */
class Choice {
  /** Empty until a listener is chosen. */
  listenerKey = ''
  gatewayNamespace = 'default'
  /** Empty until a route is chosen. */
  routeKey = ''
  /** The path prefix that the route matched, for policies that replace it. */
  matchedPrefix = ''
  /** The policies of the route that run when the request body is known. */
  tokenPolicies: readonly Policy[] = NO_POLICIES
  /** The form in which errors are sent to this client. */
  errorFormat: ErrorFormat = 'text'
  /** Null until a backend is picked. */
  backend: BackendFacts | null = null
}

/** What policies decided. Written by `enforce/`. */
class Enforcement {
  /** The policy that answered the request; empty if none did. */
  answeringPolicy = ''
  /** The class of a refusal, for the log; empty if the request was not refused. */
  refusalReason = ''
  /** The index of the authorization rule that refused the request; -1 if it was not a single rule. */
  refusingRule = -1
  /** The Host header for the backend; null leaves the choice to the backend. */
  hostRewrite: string | null = null
  /** The Origin that `cors` accepted; a later policy may remove the header itself. */
  allowedOrigin = ''
  /** Credentials that were verified and removed from the request; `backendAuth` may pass them on. */
  verifiedCredentials: readonly PresentedCredential[] = NO_CREDENTIALS
  /** What is left of the tightest limit so far. */
  allowance: Allowance | null = null
  /** Headers that a rate limit service adds to the response. */
  rateLimitHeaders: readonly (readonly [name: string, value: string])[] = NO_HEADERS
  /** Tokens charged at admission; settled at the latest with the exchange. */
  charges: readonly Charge[] = NO_CHARGES
}

/** How the request is sent to backends. Written by `forward/`. */
class Forwarding {
  /** Address of the backend: host:port, or the names of MCP targets. */
  endpoint = ''
  /** When a backend was first called; 0 until then. */
  calledAt = 0
  /** Attempts after the first. */
  retries = 0
  /** A copy of the request body for further attempts; not needed once there is a response. */
  replayBuffer: { forget(): void } | null = null
  /** Actual token cost as far as it is known; null if no token limit applies. */
  tokenCost: TokenCost | null = null
  /** Set while the usage of a response is still being counted; calls back when it is known. */
  awaitUsage: ((done: () => void) => void) | null = null
  /** Releases resources of this exchange when it is settled. */
  releaseResources: (() => void) | null = null
}

/** The response to the client. Written by `relay/`; `receivedAt` by the exchange itself. */
class ResponseState {
  reply: Reply | null = null
  status = 0
  isEventStream = false
  /** When the response head arrived; 0 until then. */
  receivedAt = 0
}

export class Exchange {
  readonly source: ClientAddress
  readonly request: RequestHead
  readonly body: Body
  readonly client: ExchangeClient
  readonly handler: ExchangeHandler
  readonly startedAt = performance.now()
  /** The request target as received, before policies change it. */
  readonly originalTarget: string
  phase: ExchangePhase = 'choose'
  readonly choice = new Choice()
  readonly enforcement = new Enforcement()
  readonly forwarding = new Forwarding()
  readonly response = new ResponseState()
  /** What policies and backends learned, for rules, traces and the log; null while there is nothing. */
  facts: ExchangeFacts | null = null
  /** Null unless this request is traced. */
  trace: Trace | null = null
  /** The call that is cancelled if the request ends before its response arrives. */
  pendingCall: CancellableCall | null = null
  outcome: Outcome = 'complete'
  error: GatewayError | null = null
  /** A request of an MCP session that another worker owns is relayed to it by `processes/peer-workers.ts`. */
  servedBy: 'this worker' | 'another worker' = 'this worker'
  #policies: readonly Policy[] = NO_POLICIES
  #addedSecrets: readonly Secret[] = NO_SECRETS
  #timer: NodeJS.Timeout | null = null

  constructor(
    source: ClientAddress,
    request: RequestHead,
    body: Body,
    client: ExchangeClient,
    handler: ExchangeHandler,
  ) {
    this.source = source
    this.request = request
    request.authority = normalizeAuthority(request.receivedAuthority, source.secure)
    this.originalTarget = request.target
    this.body = body
    this.client = client
    this.handler = handler
  }

  /** A response is being sent, or the client is gone: work that was still pending has nothing to add. */
  get isAnswered(): boolean {
    return this.phase === 'relay' || this.phase === 'settled'
  }

  /** The policies in effect, in their order: those of the listener, of the route, and of the backend in use. */
  get policies(): readonly Policy[] {
    return this.#policies
  }

  /** Replaces the policies in effect. */
  usePolicies(policies: readonly Policy[]): void {
    this.#policies = policies
  }

  /** Adds the policies of the backend in use. */
  addPolicies(policies: readonly Policy[]): void {
    if (policies.length > 0) this.#policies = this.#policies.concat(policies)
  }

  /** Credentials that the gateway added to the request. */
  get addedSecrets(): readonly Secret[] {
    return this.#addedSecrets
  }

  /** `enforce/` or `forward/` added these to the request: neither an error response nor the trace shows them. */
  addSecrets(secrets: readonly Secret[]): void {
    if (secrets.length === 0) return
    // Almost always the first ones: the list of the policy is used as it is.
    if (this.#addedSecrets.length === 0) this.#addedSecrets = secrets
    else if (this.#addedSecrets !== secrets)
      this.#addedSecrets = [...new Set([...this.#addedSecrets, ...secrets])]
    if (this.trace !== null) for (const secret of secrets) this.trace.addSecret(secret.reveal())
  }

  /** Adds facts to a copy: an earlier facts object stays unchanged, since another attempt starts from it. */
  addFacts(more: ExchangeFacts): void {
    // An object literal with a spread costs V8 one or two microseconds for each member after the spread.
    this.facts = Object.assign({}, this.facts, more)
  }

  /** The route's `timeout.requestTimeout`: until the response head, never into the body. */
  startTimeout(ms: number): void {
    this.#timer = setTimeout(
      () => this.fail(new GatewayError('REQUEST_TIMEOUT', 'request timeout')),
      ms,
    )
  }

  /** The response head is available: from a backend, a policy or the gateway itself. */
  answer(reply: Reply): void {
    if (this.phase === 'settled') return reply.body.cancel()
    assert(this.response.reply === null, 'an exchange is answered once')
    this.pendingCall = null
    this.response.receivedAt = performance.now()
    this.forwarding.replayBuffer?.forget()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.handler.onReply(this, reply)
  }

  /** Fails the exchange: with an error reply if no response was started, otherwise with a cut. */
  fail(error: GatewayError, outcome: Outcome = outcomeOf(error)): void {
    if (this.phase === 'settled') return
    this.error = error
    if (this.phase === 'relay') return this.cut(outcome)
    this.#cancel()
    this.outcome = outcome
    this.handler.onFailure(this, error)
  }

  /** Ends the client's stream in the middle. */
  cut(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.#cancel()
    this.client.cut()
    this.settle(outcome)
  }

  /** The client is gone: cancels the backend call in the same tick. */
  abandon(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.#cancel()
    this.settle(outcome)
  }

  /** The last byte was sent, or never will be. */
  settle(outcome: Outcome): void {
    if (this.phase === 'settled') return
    this.phase = 'settled'
    // An error reply that was sent completely still has the outcome of its error.
    if (outcome !== 'complete') this.outcome = outcome
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.forwarding.replayBuffer?.forget()
    this.forwarding.releaseResources?.()
    this.handler.onSettled(this)
  }

  #cancel(): void {
    const {
      pendingCall,
      response: { reply },
    } = this
    this.pendingCall = null
    pendingCall?.cancel()
    reply?.body.cancel()
  }
}

/** The outcome of an error, unless a closed connection or a shutdown explains it better. */
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

/** The cost if no provider was called, or none responded. */
export const NO_COST: TokenCost = { input: 0, output: 0, basis: 'counted' }

const NO_CHARGES: readonly Charge[] = []
