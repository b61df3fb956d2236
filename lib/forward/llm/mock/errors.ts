// Refusals, as the providers word them.

import { replyOf } from '../../../base/reply.ts'
import type { Reply } from '../../../base/types.ts'
import type { ErrorStyle, Fault, Json } from './types.ts'

type Why = Fault['why']

const STATUS: Record<Why, number> = {
  notJson: 400,
  missing: 400,
  invalid: 400,
  unknownPath: 404,
  method: 405,
  tooLarge: 413,
  limited: 429,
  broken: 500,
  busy: 503,
}

const RETRY_AFTER_S = '1'

export function refusal(style: ErrorStyle, fault: Fault, id: string): Reply {
  const body = BODIES[style](fault, id)
  const fields: [string, string][] = [['content-type', 'application/json'], idField(style, id)]
  if (fault.why === 'limited') fields.push(['retry-after', RETRY_AFTER_S])
  return replyOf(STATUS[fault.why], fields, JSON.stringify(body))
}

/** SDKs show it, so that people can tell a provider which request they mean. */
export function idField(style: ErrorStyle, id: string): [string, string] {
  return [style === 'anthropic' ? 'request-id' : 'x-request-id', `req_${id}`]
}

const BODIES: Record<ErrorStyle, (fault: Fault, id: string) => Json> = {
  openai: openAiBody,
  anthropic: anthropicBody,
  google: googleBody,
}

const OPENAI: Record<Why, readonly [type: string, code: string | null]> = {
  notJson: ['invalid_request_error', null],
  missing: ['invalid_request_error', 'missing_required_parameter'],
  invalid: ['invalid_request_error', 'invalid_value'],
  unknownPath: ['invalid_request_error', 'unknown_url'],
  method: ['invalid_request_error', 'method_not_supported'],
  tooLarge: ['invalid_request_error', null],
  limited: ['requests', 'rate_limit_exceeded'],
  broken: ['server_error', null],
  busy: ['server_error', null],
}

function openAiBody({ why, param }: Fault): Json {
  const [type, code] = OPENAI[why]
  const field = why === 'missing' || why === 'invalid' ? param : null
  const message = why === 'missing' ? `Missing required parameter: '${param}'.` : words(why, param)
  return { error: { message, type, param: field, code } }
}

const ANTHROPIC: Record<Why, string> = {
  notJson: 'invalid_request_error',
  missing: 'invalid_request_error',
  invalid: 'invalid_request_error',
  unknownPath: 'not_found_error',
  method: 'invalid_request_error',
  tooLarge: 'request_too_large',
  limited: 'rate_limit_error',
  broken: 'api_error',
  busy: 'overloaded_error',
}

function anthropicBody({ why, param }: Fault, id: string): Json {
  const message = why === 'missing' ? `${param}: Field required` : words(why, param)
  return { type: 'error', error: { type: ANTHROPIC[why], message }, request_id: `req_${id}` }
}

const GOOGLE: Record<Why, string> = {
  notJson: 'INVALID_ARGUMENT',
  missing: 'INVALID_ARGUMENT',
  invalid: 'INVALID_ARGUMENT',
  unknownPath: 'NOT_FOUND',
  method: 'UNIMPLEMENTED',
  tooLarge: 'INVALID_ARGUMENT',
  limited: 'RESOURCE_EXHAUSTED',
  broken: 'INTERNAL',
  busy: 'UNAVAILABLE',
}

function googleBody({ why, param }: Fault): Json {
  const message = why === 'missing' ? `${param} is not specified` : words(why, param)
  return { error: { code: STATUS[why], message, status: GOOGLE[why] } }
}

function words(why: Why, param: string): string {
  switch (why) {
    case 'notJson':
      return 'The request body is not a JSON object.'
    case 'missing':
      return `${param} is missing`
    case 'invalid':
      return `${param}: this is no value that the mock provider can use`
    case 'unknownPath':
      return `Unknown request URL: ${param}. Please check the URL for typos.`
    case 'method':
      return `Not allowed to ${param}.`
    case 'tooLarge':
      return `The request is larger than the ${param} bytes that the mock provider reads.`
    case 'limited':
      return `Rate limit reached for ${param}: so says the mock provider, always.`
    case 'broken':
      return 'The mock provider had an error while processing your request, as it was asked to.'
    case 'busy':
      return 'The mock provider is reading too much from others: try again later.'
  }
}
