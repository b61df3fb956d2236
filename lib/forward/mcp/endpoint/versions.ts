// Protocol versions: which are known, and what the header may say.

import type { RequestHead } from '../../../base/wire/head.ts'
import { CODES } from '../rpc.ts'
import type { RpcError } from '../rpc.ts'

/** Those with an `initialize`; 2026-07-28 has none and comes later. */
const VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']

export const NEWEST = '2025-11-25'

/** The one that had batches, and that clients speak who do not say so. */
export const BATCHES = '2025-03-26'

export function versionOf(head: RequestHead): string | undefined {
  return head.get('mcp-protocol-version')
}

/** What is wrong with the header; `agreed` is the session's version, whatever targets made of it. */
export function versionFault(version: string | undefined, agreed = ''): RpcError | null {
  if (version === undefined || VERSIONS.includes(version) || version === agreed) return null
  return {
    code: CODES.version,
    message: `unsupported MCP protocol version: ${version}`,
    data: { supported: VERSIONS, requested: version },
  }
}
