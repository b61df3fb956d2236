// `Mcp-Method` and `Mcp-Name`: what a client says of its message in the head must be what the body says, since proxies
// in front may have decided by it (reference.md 4.3). Clients of these versions need not say anything.

import type { RequestHead } from '../../../base/wire/head.ts'
import type { Message } from '../message.ts'
import { CODES } from '../rpc.ts'
import type { RpcError } from '../rpc.ts'

export function routingFault(head: RequestHead, message: Message): RpcError | null {
  const method = decoded(head.get('mcp-method'))
  if (method !== undefined && method !== message.method) return mismatch('method')
  const name = decoded(head.get('mcp-name'))
  if (name === undefined) return null
  const named = message.textParam('name') ?? message.textParam('uri')
  return name === named ? null : mismatch('name')
}

/** Names beyond ASCII come as `=?base64?…?=`. */
function decoded(value: string | undefined): string | undefined {
  const [, coded] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value ?? '') ?? []
  return coded === undefined ? value : Buffer.from(coded, 'base64').toString()
}

function mismatch(what: string): RpcError {
  return { code: CODES.headerMismatch, message: `MCP ${what} header/body mismatch` }
}
