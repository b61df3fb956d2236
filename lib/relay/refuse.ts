// The one place where an error becomes an answer.

import type { ErrorCode, GatewayError } from '../base/errors.ts'
import { replyOf, textReply } from '../base/reply.ts'
import type { Dialect, Reply } from '../base/types.ts'

export function refuse(error: GatewayError, dialect: Dialect): Reply {
  switch (dialect) {
    case 'text':
      return textReply(error.status, error.message, later(error))
    case 'jsonrpc':
      return jsonReply(error, rpcError(error))
    case 'openai':
      return jsonReply(error, openAiError(error))
    case 'anthropic':
      return jsonReply(error, anthropicError(error))
  }
}

function jsonReply(error: GatewayError, body: object): Reply {
  const fields: Field[] = [['content-type', 'application/json'], ...later(error)]
  return replyOf(error.status, fields, JSON.stringify(body))
}

type Field = readonly [name: string, value: string]

/** What is over as soon as others have been served. */
const SHORT: ReadonlySet<ErrorCode> = new Set([
  'OVERLOADED',
  'OUT_OF_DESCRIPTORS',
  'POOL_EXHAUSTED',
])

function later({ code }: GatewayError): Field[] {
  return SHORT.has(code) ? [['retry-after', '1']] : []
}

/** JSON-RPC: the request could not be used, or the server failed; which request it was, nobody has read. */
function rpcError({ source, message }: GatewayError): object {
  const code = source === 'client' ? -32600 : -32603
  return { jsonrpc: '2.0', id: null, error: { code, message } }
}

/** Words that SDKs know, where there is one; else our own code. */
const OPENAI_CODES: Partial<Record<ErrorCode, string>> = {
  LLM_REQUEST: 'invalid_request_body',
  MODEL_MISSING: 'missing_model',
  MODEL_DENIED: 'model_not_allowed',
  MODEL_NOT_FOUND: 'model_not_found',
}

function openAiError({ code, source, message }: GatewayError): object {
  const type = source === 'client' ? 'invalid_request_error' : 'server_error'
  const word = OPENAI_CODES[code] ?? code.toLowerCase()
  return { error: { message, type, param: null, code: word } }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  504: 'timeout_error',
}

function anthropicError({ code, status, source, message }: GatewayError): object {
  if (code === 'OVERLOADED') return { type: 'error', error: { type: 'overloaded_error', message } }
  const other = source === 'client' ? 'invalid_request_error' : 'api_error'
  return { type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? other, message } }
}
