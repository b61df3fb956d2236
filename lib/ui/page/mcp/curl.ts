// A message of the playground as a command that sends it again. The token is not in it: it stands for a variable.

import { reachable } from '../parts/requests.ts'
import { shellWord } from '../../../trace-view/curl-command.ts'
import type { McpBackendView } from '../../../admin/page-api/page-api-types.ts'
import type { Members } from './messages.ts'

export interface Sent {
  readonly backend: McpBackendView
  /** How the page was reached. */
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly authorization: 'token' | 'none'
  readonly message: Members
}

export function curlOf({ backend, host, headers, authorization, message }: Sent): string {
  const words = [`curl -N ${shellWord(urlOf(backend, host))}`]
  // The certificate is likely one that nobody else has signed.
  if (backend.protocol === 'HTTPS') words.push('--insecure')
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${shellWord(`${name}: ${value}`)}`)
  if (authorization === 'token') words.push('-H "authorization: Bearer $TOKEN"')
  words.push(`--data-raw ${shellWord(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }))}`)
  return words.join(' \\\n  ')
}

/** By its own name, or at the address where its listener is bound. */
export function urlOf(backend: McpBackendView, host: string): string {
  const { protocol, hostname, bind, port, path } = backend
  const usual = protocol === 'HTTPS' ? 443 : 80
  const authority = `${hostname || reachable(bind, host)}${port === usual ? '' : `:${port}`}`
  return `${protocol.toLowerCase()}://${authority}${path}`
}
