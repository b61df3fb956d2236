// JSON-RPC as the gateway itself speaks it: errors, results and notifications of its own.

import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'

/** Codes of JSON-RPC, of the MCP SDKs' servers and of the MCP specification. */
export const CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The transport refused, or a target failed. */
  server: -32000,
  noSession: -32001,
  headerMismatch: -32020,
  version: -32022,
} as const

export type Code = (typeof CODES)[keyof typeof CODES]

export interface RpcError {
  readonly code: Code
  readonly message: string
  readonly data?: unknown
}

/** `idText` is an id as it was written: `1`, `"a"`, or `null` where there is none. */
export function errorText(idText: string, error: RpcError): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`
}

export function resultBytes(idText: string, resultText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":${resultText}}`)
}

export function notificationBytes(method: string, paramsText: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${paramsText}}`)
}

/** Nobody waits for the answer to the request of this number any more. */
export function cancelledBytes(number: number, why: string): Buffer {
  const params = JSON.stringify({ requestId: number, reason: why })
  return notificationBytes('notifications/cancelled', params)
}

/** An answer that is an HTTP error and says why in JSON-RPC. */
export function refusal(status: number, error: RpcError, idText = 'null'): Reply {
  return replyOf(status, [['content-type', 'application/json']], errorText(idText, error))
}

/** Notifications and answers of the client's get no more than this. */
export function accepted(): Reply {
  return replyOf(202, [])
}
