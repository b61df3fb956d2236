// The one place where an error becomes an answer.

import type { ErrorCode, GatewayError } from '../base/errors.ts'
import { replyOf, textReply } from '../base/reply.ts'
import type { Dialect, Reply } from '../base/types.ts'

export function refuse(error: GatewayError, dialect: Dialect): Reply {
  switch (dialect) {
    case 'text':
      return textReply(error.status, error.message)
    case 'jsonrpc':
      return jsonReply(error, rpcError(error))
    case 'openai':
      return jsonReply(error, openAiError(error))
    case 'anthropic':
      return jsonReply(error, anthropicError(error))
  }
}

function jsonReply({ status }: GatewayError, body: object): Reply {
  return replyOf(status, [['content-type', 'application/json']], JSON.stringify(body))
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

function anthropicError({ status, source, message }: GatewayError): object {
  const other = source === 'client' ? 'invalid_request_error' : 'api_error'
  return { type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? other, message } }
}
