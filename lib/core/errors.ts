// The error class of the gateway and the table of its codes: the status that a client gets, and the source of the fault.
// Only `relay/` turns an error into a reply.

import type { LimitName } from './refusal-counter.ts'
import { sourceStack } from './source-positions.ts'

export type FaultSource = 'client' | 'gateway' | 'backend'

const TABLE = {
  // The client sent something that is not HTTP, or not HTTP that the gateway accepts.
  BAD_HEAD: [400, 'client'],
  BAD_HOST: [400, 'client'],
  BAD_TARGET: [400, 'client'],
  BAD_FRAMING: [400, 'client'],
  BAD_CHUNK: [400, 'client'],
  METHOD_NOT_ALLOWED: [405, 'client'],
  HEAD_TIMEOUT: [408, 'client'],
  BODY_TIMEOUT: [408, 'client'],
  BODY_TOO_LARGE: [413, 'client'],
  HEAD_TOO_LARGE: [431, 'client'],
  LLM_REQUEST: [400, 'client'],
  LLM_ENCODING: [415, 'client'],
  MODEL_MISSING: [400, 'client'],
  MODEL_DENIED: [403, 'client'],
  ORIGIN_NOT_ALLOWED: [403, 'client'],
  MODEL_NOT_FOUND: [404, 'client'],
  METHOD_UNKNOWN: [501, 'client'],
  VERSION_UNKNOWN: [505, 'client'],
  // Nothing in the configuration matches the request, or the gateway cannot serve it now.
  LISTENER_NOT_FOUND: [404, 'gateway'],
  ROUTE_NOT_FOUND: [404, 'gateway'],
  NO_BACKENDS: [500, 'gateway'],
  INTERNAL: [500, 'gateway'],
  POOL_EXHAUSTED: [503, 'gateway'],
  LIMITS_UNAVAILABLE: [503, 'gateway'],
  WORKER_UNREACHABLE: [503, 'gateway'],
  OUT_OF_DESCRIPTORS: [503, 'gateway'],
  OVERLOADED: [503, 'gateway'],
  REQUEST_TIMEOUT: [504, 'gateway'],
  // The backend could not be reached, or its response was not valid HTTP.
  UPGRADE_FAILED: [502, 'backend'],
  BACKEND_CONNECT: [503, 'backend'],
  CONNECT_TIMEOUT: [503, 'backend'],
  BACKEND_CLOSED: [503, 'backend'],
  BACKEND_INVALID: [503, 'backend'],
  BACKEND_TIMEOUT: [504, 'backend'],
} as const satisfies Record<string, readonly [number, FaultSource]>

export type ErrorCode = keyof typeof TABLE

export interface GatewayErrorOptions extends ErrorOptions {
  /** The limit that was reached, and its value; counted when the error becomes a reply. */
  readonly limit?: readonly [limit: LimitName, max: number]
}

export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly limit: readonly [limit: LimitName, max: number] | null

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options)
    this.name = 'GatewayError'
    this.code = code
    this.limit = options.limit ?? null
  }

  get status(): number {
    return TABLE[this.code][0]
  }

  get source(): FaultSource {
    return TABLE[this.code][1]
  }
}

/** Converts any thrown value to an error with a code; one without a code is a bug of the gateway. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('INTERNAL', 'internal error', { cause: error })
}

/** The message of any thrown value. */
export function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The stack for the log, with positions in the TypeScript sources. */
export function errorStackOf(cause: unknown): string {
  return cause instanceof Error ? sourceStack(cause.stack ?? cause.message) : String(cause)
}
