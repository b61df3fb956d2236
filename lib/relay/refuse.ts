// The one place where an error becomes an answer.

import type { GatewayError } from '../base/errors.ts'
import { replyOf, textReply } from '../base/reply.ts'
import type { Dialect, Reply } from '../base/types.ts'

export function refuse(error: GatewayError, dialect: Dialect): Reply {
  return dialect === 'text' ? textReply(error.status, error.message) : rpcReply(error)
}

/** JSON-RPC: the request could not be used, or the server failed; which request it was, nobody has read. */
function rpcReply({ status, source, message }: GatewayError): Reply {
  const code = source === 'client' ? -32600 : -32603
  const text = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })
  return replyOf(status, [['content-type', 'application/json']], text)
}
