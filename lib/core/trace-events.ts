// The events of a trace, in the spelling of spec.md §2.7 and §6, otherwise of reference.md 6.3.

import type { LlmFacts } from './facts.ts'
import type { RequestHead, ResponseHead } from './head.ts'
import type { Allowance, Tap } from './types.ts'

/** Events of spec.md §6 have `info`; those that the gateway adds have any of them. */
export type TraceSeverity = 'success' | 'info' | 'warn' | 'error'

/** The stage of a request at which a snapshot is taken. */
export type RequestStage =
  'initial request' | 'gateway policies' | 'route policies' | 'final request'
export type ResponseStage = 'raw response' | 'backend response ready' | 'final response'
export type BodyStage = 'final request' | 'response'
export type PolicyPhase = 'gateway' | 'route' | 'backend'

/** What a policy did: it applied, or was skipped, and why. */
export type PolicyResult =
  | {
      readonly type: 'apply'
      readonly details: string
      /** The request after the policy, if the policy changed it. */
      readonly snapshot: object | null
    }
  | { readonly type: 'skip'; readonly reason: string }

export interface RuleResult {
  /** The expression. */
  readonly name: string
  readonly matched: boolean
  readonly mode: 'allow' | 'deny' | 'require'
}

/** The decision of a limit. The numbers are null if a rate limit service did not report them or did not respond. */
export interface LimitDecision {
  readonly type: 'rateLimit'
  /** Where the limit is configured, or the domain of the service. */
  readonly rule: string
  readonly counts: 'requests' | 'tokens'
  /** Its bucket: the value of its key, `shared` if the key has no value, null if there is only one. */
  readonly bucket: string | null
  readonly decision: 'allow' | 'deny'
  readonly limit: number | null
  readonly remaining: number | null
  /** Whole seconds until more is available. */
  readonly reset: number | null
  /** Why the service did not respond. */
  readonly error: string | null
}

/** When a part of a body arrived: the bytes so far, and microseconds since the request was accepted. */
export type ChunkArrival = readonly [bytes: number, at: number]

/** A request or response body, up to the copied length. */
export interface BodySnapshotEvent {
  readonly type: 'bodySnapshot'
  readonly stage: BodyStage
  /** Length of the whole body. */
  readonly bytes: number
  readonly truncated?: true
  /** Base64 of the exact bytes, without secrets that the gateway added and `config.trace.redactBodies`. */
  readonly body: string
  readonly arrivals: readonly ChunkArrival[] | undefined
  /** How many parts each arrival represents, if more than one. */
  readonly arrivalStep: number | undefined
  /** Approximate length of the serialised event. */
  readonly encodedLength: number
}

export type TraceMessage =
  | { readonly type: 'requestStarted' }
  | {
      readonly type: 'requestSnapshot'
      readonly stage: RequestStage
      readonly requestState: object
    }
  | {
      readonly type: 'responseSnapshot'
      readonly stage: ResponseStage
      readonly requestState: object
    }
  | BodySnapshotEvent
  | {
      readonly type: 'policySelection'
      readonly phase: PolicyPhase
      readonly effectivePolicy: object
    }
  | {
      readonly type: 'routeSelection'
      readonly selectedRoute: string | null
      readonly evaluatedRoutes: readonly string[]
    }
  | { readonly type: 'policy'; readonly kind: string; readonly result: PolicyResult }
  | {
      readonly type: 'authorizationResult'
      readonly rules: readonly RuleResult[]
      readonly result: 'allow' | 'deny'
    }
  | { readonly type: 'cel'; readonly expr: string; readonly result: { readonly error: string } }
  | LimitDecision
  | {
      readonly type: 'llmRequestDetected'
      readonly inputFormat: string
      readonly requestModel: string | null
      readonly streaming: boolean | null
    }
  | { readonly type: 'llmRouteResolved'; readonly provider: string; readonly routeType: string }
  | { readonly type: 'llmUsage'; readonly usage: object }
  | {
      readonly type: 'mcpMessage'
      readonly method: string
      readonly target: string
      readonly session: string | null
    }
  | { readonly type: 'backendCallStart'; readonly target: string }
  | {
      readonly type: 'backendCallResult'
      readonly status: number | null
      readonly error: string | null
    }
  | { readonly type: 'eventsDropped'; readonly count: number }
  | {
      readonly type: 'requestFinished'
      readonly status: number | null
      readonly error: string | null
    }

export interface TraceEvent {
  /** Microseconds since the request was accepted; null for an event without duration. */
  readonly eventStart: number | null
  readonly eventEnd: number
  readonly severity: TraceSeverity
  /** The MCP target that a call was made for. */
  readonly scope?: readonly string[]
  readonly message: TraceMessage
}

/** Policy names of reference.md 6.6, where they differ from those of the configuration. */
const POLICY_NAMES: Readonly<Record<string, string>> = {
  jwtAuth: 'jwt',
  transformations: 'transformation',
  backendTLS: 'backendTls',
  ai: 'llm',
}

export function tracePolicyName(configName: string): string {
  return POLICY_NAMES[configName] ?? configName
}

/** The MCP target that a call is made for; undefined if the backend itself is called. */
export type TraceScope = readonly string[] | undefined

/** Severity, start and scope of an event. */
export interface EventDetails {
  readonly severity?: TraceSeverity | undefined
  /** Makes it an event with a duration; on the clock of `performance.now()`. */
  readonly since?: number | undefined
  readonly scope?: TraceScope
}

/** The parts of an authorization rule that a trace needs. */
export interface TracedRule {
  readonly mode: RuleResult['mode']
  readonly expression: object
}

/** The parts of a limit that a trace needs. */
export interface TracedLimit {
  readonly name: string
  readonly counts: LimitDecision['counts']
  readonly key: object | null
}

/** What is sent to a backend where it differs from the client's request. */
export interface SentRequest {
  readonly request?: RequestHead
  /** The Host header that is sent; null when it is unchanged. */
  readonly host?: string | null
}

/** One call to a backend in a trace. */
export interface CallTrace {
  /** Copies the request body as it is sent. */
  readonly requestBodyTap: Tap
  /** The head of the response arrived. */
  recordResponse(head: ResponseHead): void
  /** Records a response that no policy changes. */
  recordReady(head: ResponseHead): void
  /** Records a response that has no head: its snapshots show the status only. */
  recordStatus(status: number): void
  recordFailure(message: string): void
  close(message: string): void
}

/** The trace of one request. Every exchange that is not traced has null instead. */
export interface Trace {
  emit(message: TraceMessage, details?: EventDetails): void
  /** The gateway gave this secret to a backend: the trace does not show it, also where the backend returns it. */
  addSecret(text: string): void
  snapshotRequest(stage: RequestStage): void
  snapshotResponse(stage: ResponseStage, head: ResponseHead, scope?: TraceScope): void
  /** Records the policies of a phase; `effective` is shown unchanged and must not contain a secret. */
  recordPolicies(phase: PolicyPhase, effective: object): void
  /** A policy is about to run on the request. */
  startPolicy(): void
  /** Called by the running policy: why it does not apply. */
  skipPolicy(reason: string): void
  /** Called by the running policy: what it found. */
  notePolicy(details: string): void
  /** The policy has run; `waited` when it did so asynchronously. */
  endPolicy(kind: string, status: number | null, how: 'at once' | 'waited'): void
  /** The request was refused by something that is not a policy of its own. */
  recordRefusal(kind: string, status: number, reason: string): void
  /** What a policy did to the response. */
  recordResponsePolicy(kind: string, result: PolicyResult): void
  recordRules(rules: readonly TracedRule[], view: object, result: 'allow' | 'deny'): void
  /** An expression failed; `header` is the header that it computes, if any. */
  recordExpressionFault(expression: object, error: string, header?: string): void
  recordLimit(limit: TracedLimit, left: Allowance, decision: 'allow' | 'deny'): void
  /** The limit could not be checked, so the request is refused. */
  recordLimitFailure(limit: TracedLimit, error: string): void
  recordLlmRequest(inputFormat: string, facts: LlmFacts): void
  recordMcpMessage(method: string, target: string): void
  recordRoute(selected: string | null, evaluated: ReadonlySet<string>): void
  /** The request is sent to a backend or to one of its MCP targets. */
  startCall(target: string, sent: SentRequest, scope?: TraceScope): CallTrace
  /** The response before response policies run. */
  recordReplyReady(head: ResponseHead): void
  /** Copies the response body as it passes. */
  tapResponseBody(): Tap
  finish(): void
}

/** Formats an event as one line of JSON. */
export function formatTraceEvent(event: TraceEvent): string {
  const { message } = event
  if (message.type !== 'bodySnapshot') return JSON.stringify(event)
  const { body, type, stage, bytes, truncated, arrivals, arrivalStep } = message
  const others = { bytes, truncated, arrivals, arrivalStep }
  const text = JSON.stringify({ ...event, message: { type, stage, body: '', ...others } })
  // Base64 needs no escaping, and a search for escapes in megabytes would take longer than everything else.
  return text.replace('"body":""', () => `"body":"${body}"`)
}
