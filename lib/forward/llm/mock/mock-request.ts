// Reads the JSON of a request to the mock provider without trusting it, and answers faults as the two dialects word them.

import { createHash } from 'node:crypto'
import { buildReply } from '../../../core/replies.ts'
import type { Reply } from '../../../core/types.ts'

export type Json = Readonly<Record<string, unknown>>

/** The dialect in which an endpoint words its errors. */
export type ErrorStyle = 'openai' | 'anthropic'

/** Why a request has no answer. `param` is the field at fault, or another detail of the message; '' where there is none. */
export interface MockFault {
  readonly kind: 'fault'
  readonly reason: Reason
  readonly param: string
}

type Reason = 'notJson' | 'missing' | 'invalid' | 'unknownPath' | 'method' | 'tooLarge' | 'busy'

/** Messages, their content, its blocks and what those quote hold text; a prompt has none deeper than this. */
const MAX_DEPTH = 8

/** Of a model name, which each chunk of a stream repeats. */
const MAX_NAME = 1_024

const ID_LENGTH = 24

/** null for a text that is not a JSON object. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** An empty object for any value that is not an object. */
export function readObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function readName(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_NAME ? value : ''
}

/** The number of tokens an answer may have; null when the value is not a number of tokens. */
export function readMaxTokens(value: unknown): number | null {
  if (value === undefined || value === null) return Infinity
  return Number.isInteger(value) && (value as number) > 0 ? (value as number) : null
}

/** The texts in the content of a message, in each form that a dialect allows. */
export function collectTexts(value: unknown, depth = MAX_DEPTH): string[] {
  if (typeof value === 'string') return [value]
  if (depth === 0 || typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((item) => collectTexts(item, depth - 1))
  const { text, content } = value as Json
  return [text, content].flatMap((item) => collectTexts(item, depth - 1))
}

/** The text of the last message of the user; a message without a role is the user's. */
export function lastUserText(messages: readonly unknown[]): string {
  const last = messages.findLast((message) => (readObject(message)['role'] ?? 'user') === 'user')
  return collectTexts(last).join(' ')
}

/** Letters and digits that are the same for the same texts. */
export function hashTexts(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text}\0`)
  return hash.digest('hex').substring(0, ID_LENGTH)
}

export function missing(param: string): MockFault {
  return { kind: 'fault', reason: 'missing', param }
}

export function invalid(param: string): MockFault {
  return { kind: 'fault', reason: 'invalid', param }
}

/** SDKs show the request id to their users. */
export function requestIdField(style: ErrorStyle, id: string): [string, string] {
  return [style === 'anthropic' ? 'request-id' : 'x-request-id', `req_${id}`]
}

/** What a reason is in each dialect. */
const ERRORS: Record<
  Reason,
  { status: number; openai: [string, string | null]; anthropic: string }
> = {
  notJson: {
    status: 400,
    openai: ['invalid_request_error', null],
    anthropic: 'invalid_request_error',
  },
  missing: {
    status: 400,
    openai: ['invalid_request_error', 'missing_required_parameter'],
    anthropic: 'invalid_request_error',
  },
  invalid: {
    status: 400,
    openai: ['invalid_request_error', 'invalid_value'],
    anthropic: 'invalid_request_error',
  },
  unknownPath: {
    status: 404,
    openai: ['invalid_request_error', 'unknown_url'],
    anthropic: 'not_found_error',
  },
  method: {
    status: 405,
    openai: ['invalid_request_error', 'method_not_supported'],
    anthropic: 'invalid_request_error',
  },
  tooLarge: {
    status: 413,
    openai: ['invalid_request_error', null],
    anthropic: 'request_too_large',
  },
  busy: { status: 503, openai: ['server_error', null], anthropic: 'overloaded_error' },
}

export function refuse(style: ErrorStyle, fault: MockFault, id: string): Reply {
  const fields = [['content-type', 'application/json'] as const, requestIdField(style, id)]
  const body = style === 'openai' ? openAiError(fault) : anthropicError(fault, id)
  return buildReply(ERRORS[fault.reason].status, fields, JSON.stringify(body))
}

function openAiError(fault: MockFault): Json {
  const { reason, param } = fault
  const [type, code] = ERRORS[reason].openai
  const field = reason === 'missing' || reason === 'invalid' ? param : null
  const message =
    reason === 'missing' ? `Missing required parameter: '${param}'.` : messageOf(fault)
  return { error: { message, type, param: field, code } }
}

function anthropicError(fault: MockFault, id: string): Json {
  const { reason, param } = fault
  const message = reason === 'missing' ? `${param}: Field required` : messageOf(fault)
  return {
    type: 'error',
    error: { type: ERRORS[reason].anthropic, message },
    request_id: `req_${id}`,
  }
}

function messageOf({ reason, param }: MockFault): string {
  switch (reason) {
    case 'notJson':
      return 'The request body is not a JSON object.'
    case 'missing':
      return `${param} is missing.`
    case 'invalid':
      return `${param}: the mock provider cannot use this value.`
    case 'unknownPath':
      return `Unknown request URL: ${param}. The mock provider answers chat completions, messages and models.`
    case 'method':
      return `Method not allowed: ${param}.`
    case 'tooLarge':
      return `The request is larger than the ${param} bytes that the mock provider reads.`
    case 'busy':
      return 'The mock provider is reading too many other requests: try again later.'
  }
}
