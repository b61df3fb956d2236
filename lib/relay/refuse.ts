// Converts a gateway error to the error response, in the format of the client's protocol.

import type { ErrorCode, GatewayError } from '../core/errors.ts'
import { buildReply, buildTextReply } from '../core/replies.ts'
import type { ErrorFormat, Reply } from '../core/types.ts'

export function buildErrorReply(error: GatewayError, format: ErrorFormat): Reply {
  switch (format) {
    case 'text':
      return buildTextReply(error.status, error.message, retryAfterHeaders(error))
    case 'jsonrpc':
      return buildJsonErrorReply(error, buildRpcError(error))
    case 'openai':
      return buildJsonErrorReply(error, buildOpenAiError(error))
    case 'anthropic':
      return buildJsonErrorReply(error, buildAnthropicError(error))
  }
}

function buildJsonErrorReply(error: GatewayError, body: object): Reply {
  const fields: ErrorReplyHeader[] = [
    ['content-type', 'application/json'],
    ...retryAfterHeaders(error),
  ]
  return buildReply(error.status, fields, JSON.stringify(body))
}

type ErrorReplyHeader = readonly [name: string, value: string]

/** Conditions that end as soon as other requests complete: the client should retry after one second. */
const RETRY_SOON: ReadonlySet<ErrorCode> = new Set([
  'OVERLOADED',
  'OUT_OF_DESCRIPTORS',
  'POOL_EXHAUSTED',
])

function retryAfterHeaders({ code }: GatewayError): ErrorReplyHeader[] {
  return RETRY_SOON.has(code) ? [['retry-after', '1']] : []
}

/** Invalid request or internal error; `id` is null because the body has not been parsed. */
function buildRpcError({ source, message }: GatewayError): object {
  const code = source === 'client' ? -32600 : -32603
  return { jsonrpc: '2.0', id: null, error: { code, message } }
}

/** Error codes that the OpenAI SDKs know; all other errors use our own code in lower case. */
const OPENAI_CODES: Partial<Record<ErrorCode, string>> = {
  LLM_REQUEST: 'invalid_request_body',
  MODEL_MISSING: 'missing_model',
  MODEL_DENIED: 'model_not_allowed',
  MODEL_NOT_FOUND: 'model_not_found',
}

function buildOpenAiError({ code, source, message }: GatewayError): object {
  const type = source === 'client' ? 'invalid_request_error' : 'server_error'
  const openAiCode = OPENAI_CODES[code] ?? code.toLowerCase()
  return { error: { message, type, param: null, code: openAiCode } }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  504: 'timeout_error',
}

function buildAnthropicError({ code, status, source, message }: GatewayError): object {
  if (code === 'OVERLOADED') return { type: 'error', error: { type: 'overloaded_error', message } }
  const defaultType = source === 'client' ? 'invalid_request_error' : 'api_error'
  return { type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? defaultType, message } }
}
