// The events of a trace, spelled as the document spells them (spec.md §2.7, §6; the rest as reference.md 6.3 has it).

import type { BodySnapshot } from './body-copy.ts'

export type Severity = 'success' | 'info' | 'warn' | 'error'

/** Where in the life of a request a snapshot was taken. */
export type RequestStage =
  'initial request' | 'gateway policies' | 'route policies' | 'final request'
export type ResponseStage = 'raw response' | 'backend response ready' | 'final response'
export type BodyStage = 'final request' | 'response'
export type PolicyPhase = 'gateway' | 'route' | 'backend'

/** What a policy did: passed, changed or answered, or had nothing to say, and why. */
export type PolicyResult =
  | {
      readonly type: 'apply'
      readonly details: string
      /** The request behind it, where it is not as it was. */
      readonly snapshot: object | null
    }
  | { readonly type: 'skip'; readonly reason: string }

export interface RuleResult {
  /** The expression. */
  readonly name: string
  readonly matched: boolean
  readonly mode: 'allow' | 'deny' | 'require'
}

/** What a limit decided. Of a service that does not say, or was not there, the numbers are null. */
export interface LimitDecision {
  readonly type: 'rateLimit'
  /** Where it was written, or the service's domain. */
  readonly rule: string
  readonly counts: 'requests' | 'tokens'
  /** Which of its buckets: the value of its key, `shared` where that has none, null where there is but one. */
  readonly bucket: string | null
  readonly decision: 'allow' | 'deny'
  readonly limit: number | null
  readonly remaining: number | null
  /** Whole seconds until there is more. */
  readonly reset: number | null
  /** Why the service was not heard. */
  readonly error: string | null
}

export type Message =
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
  | BodySnapshot
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
  /** Microseconds since the request was accepted; null for a point in time. */
  readonly eventStart: number | null
  readonly eventEnd: number
  readonly severity: Severity
  /** The MCP target that a call was made for. */
  readonly scope?: readonly string[]
  readonly message: Message
}

/** The names reference.md 6.6 has for policies, where they are not those of the configuration. */
const POLICY_NAMES: Readonly<Record<string, string>> = {
  jwtAuth: 'jwt',
  transformations: 'transformation',
  backendTLS: 'backendTls',
  ai: 'llm',
}

export function policyName(written: string): string {
  return POLICY_NAMES[written] ?? written
}
