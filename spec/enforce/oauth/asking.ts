// Shared by the OAuth specs: a gateway with a protected route, and raw requests to it.

import type { RunningGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw-client.ts'

/** The public URL of the gateway, which differs from its address in a spec. */
export const BASE = 'https://gateway.example'
export const RESOURCE = '/.well-known/oauth-protected-resource'
export const SERVER = '/.well-known/oauth-authorization-server'
export const OPENID = '/.well-known/openid-configuration'

export interface Answer {
  readonly status: number
  /** By lower-case name; the last of several values. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A gateway configuration with mcpAuthentication; both parts are YAML in flow form, without braces. */
export function protectedBy(fields: string, policies = '', resource = `${BASE}/mcp`): string {
  const scopes = 'scopesSupported: [read, write], bearerMethodsSupported: [header]'
  const metadata = `resourceMetadata: { resource: "${resource}", ${scopes} }`
  const auth = `mcpAuthentication: { audiences: [aud], ${metadata}, ${fields} }`
  return `routes: [{ name: mcp, backends: [{ host: 127.0.0.1:9 }], policies: { ${auth}, ${policies} } }]\n`
}

/** Sends a request line, headers and a body; adds a length and a Host unless the headers have one. */
export async function ask(
  { port }: Pick<RunningGateway, 'port'>,
  line: string,
  fields: readonly string[] = [],
  body = '',
): Promise<Answer> {
  const client = await RawClient.connect(port)
  const has = (name: string): boolean => fields.some((one) => one.toLowerCase().startsWith(name))
  const head = [`${line} HTTP/1.1`, ...fields, 'connection: close']
  if (!has('host:')) head.push('host: gateway.example')
  const isFramed = has('content-length:') || has('transfer-encoding:')
  if (body !== '' && !isFramed) head.push(`content-length: ${body.length}`)
  try {
    client.send(`${head.join('\r\n')}\r\n\r\n${body}`)
    return answerOf(await client.untilClosed())
  } finally {
    client.destroy()
  }
}

/** The JSON of a document that exists. */
export async function read(
  gateway: RunningGateway,
  path: string,
): Promise<Record<string, unknown>> {
  const { status, body, headers } = await ask(gateway, `GET ${path}`)
  if (status !== 200 || headers['content-type'] !== 'application/json')
    throw new Error(`${path} is answered with ${status} ${body}`)
  // Received bytes are kept as latin1.
  return JSON.parse(Buffer.from(body, 'latin1').toString())
}

function answerOf(text: string): Answer {
  const at = text.indexOf('\r\n\r\n')
  const [first = '', ...fields] = text.slice(0, at).split('\r\n')
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(first.split(' ')[1]), headers, body: text.slice(at + 4) }
}
