// A message of the playground as a command that sends it again. The token is not in it: it stands for a variable.

import { shellWord } from '../../../base/trace-reading/curl.ts'
import type { McpBackendView } from '../../api.ts'
import type { Members } from './messages.ts'

export interface Sent {
  readonly backend: McpBackendView
  readonly headers: Readonly<Record<string, string>>
  readonly authorization: 'token' | 'none'
  readonly message: Members
}

export function curlOf({ backend, headers, authorization, message }: Sent): string {
  const words = [`curl -N ${shellWord(urlOf(backend))}`]
  // The certificate is likely one that nobody else has signed.
  if (backend.protocol === 'HTTPS') words.push('--insecure')
  for (const [name, value] of Object.entries(headers))
    words.push(`-H ${shellWord(`${name}: ${value}`)}`)
  if (authorization === 'token') words.push('-H "authorization: Bearer $TOKEN"')
  words.push(`--data-raw ${shellWord(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }))}`)
  return words.join(' \\\n  ')
}

export function urlOf({ protocol, hostname, port, path }: McpBackendView): string {
  const usual = protocol === 'HTTPS' ? 443 : 80
  const authority = `${hostname || 'localhost'}${port === usual ? '' : `:${port}`}`
  return `${protocol.toLowerCase()}://${authority}${path}`
}
