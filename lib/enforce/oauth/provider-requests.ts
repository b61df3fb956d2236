// Client requests that are forwarded to an identity provider, and the responses of the OAuth endpoints.

import { errorMessageOf } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Log } from '../../core/log.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import { describeFetchFailure } from '../../http/fetch-document.ts'
import type { FetchDocument, FetchedDocument } from '../../http/fetch-document.ts'
import type { IdentityStore } from '../auth/identity.ts'

/** Concurrent calls: they need no token, so they must not accumulate while a provider hangs. */
export const MAX_PROVIDER_CALLS = 64

/** How much of an error response is searched for its code. */
const MAX_ERROR_BYTES_READ = 4_096

/** Response headers that are passed to the client; cookies and connection headers are not. */
const FORWARDED_HEADERS = [
  'content-type',
  'content-encoding',
  'cache-control',
  'pragma',
  'www-authenticate',
  'retry-after',
]

/** A page from the provider must not run with the origin of the gateway. */
const ISOLATION_HEADERS = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; sandbox"],
] as const

export interface ProviderPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export class ProviderCalls {
  readonly #post: FetchDocument
  readonly #log: Log
  readonly #refusals: RefusalCounter
  #inFlight = 0

  constructor({ post, log, refusals }: Pick<IdentityStore, 'post' | 'log' | 'refusals'>) {
    this.#post = post
    this.#refusals = refusals
    this.#log = log
  }

  /**
   * Returns the provider's response, even if it is an error; 502 if the provider fails, 503 if too many calls are open.
   * `callName` begins the log events.
   */
  async post(callName: string, request: ProviderPost): Promise<Reply> {
    if (this.#inFlight >= MAX_PROVIDER_CALLS) {
      this.#refusals.count('providerCalls', MAX_PROVIDER_CALLS)
      return createOAuthErrorReply(
        503,
        'temporarily_unavailable',
        'too many requests are waiting for the provider',
      )
    }
    this.#inFlight++
    try {
      return await this.#send(callName, request)
    } finally {
      this.#inFlight--
    }
  }

  async #send(callName: string, { url, headers, body }: ProviderPost): Promise<Reply> {
    const { host } = new URL(url)
    let fetched: FetchedDocument
    try {
      fetched = await this.#post(url, { method: 'POST', headers, body })
    } catch (error) {
      this.#log.write('warn', 'auth', `${callName} got no response`, [
        ...['host', host, 'error', errorMessageOf(error)],
      ])
      return createProviderFailedReply(describeFetchFailure(host, error))
    }
    const { status, bytes } = fetched
    if (status >= 400)
      this.#log.write('info', 'auth', `${callName} refused`, [
        ...['host', host, 'status', status],
        ...['error', errorCodeIn(bytes)],
      ])
    // A redirect is not passed on: the client would post its code or registration to another URL.
    if (status >= 300 && status < 400)
      return createProviderFailedReply(`${host} responded with status ${status}`)
    return createProviderReply(fetched)
  }
}

function createProviderReply({ status, headers, bytes }: FetchedDocument): Reply {
  const fields = FORWARDED_HEADERS.flatMap((name) =>
    [headers[name] ?? []].flat().map((value) => [name, value] as const),
  )
  return buildReply(status, [...fields, ...ISOLATION_HEADERS], bytes)
}

/** Extracts only the error codes: the error text may repeat what the client sent. */
function errorCodeIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, MAX_ERROR_BYTES_READ)
  const [, error] = /"error"\s*:\s*"([\w.-]{1,64})"/.exec(start) ?? []
  const [detail] = /\bAADSTS\d{1,9}\b/.exec(start) ?? []
  return [error, detail].filter((code) => code !== undefined).join(' ') || undefined
}

export function createJsonReply(status: number, value: unknown): Reply {
  return buildReply(status, [['content-type', 'application/json']], JSON.stringify(value))
}

/** The error format of RFC 6749 5.2 and RFC 7591 3.2.2. */
export function createOAuthErrorReply(status: number, error: string, description: string): Reply {
  return createJsonReply(status, { error, error_description: description })
}

export function createMethodNotAllowedReply(methods: string): Reply {
  const reply = createOAuthErrorReply(
    405,
    'invalid_request',
    `method not allowed; must be ${methods}`,
  )
  reply.head.add('allow', methods)
  return reply
}

/** The response when the provider does not respond, or responds unexpectedly. */
export function createProviderFailedReply(reason: string): Reply {
  return createOAuthErrorReply(
    502,
    'temporarily_unavailable',
    `the identity provider failed: ${reason}`,
  )
}

/** The response when the provider's metadata is unsafe for clients. */
export function createProviderUnusableReply(reason: string): Reply {
  const description = `the identity provider's metadata cannot be used: ${reason}`
  return createOAuthErrorReply(502, 'temporarily_unavailable', description)
}

/** Allows pages of any origin to read the response, unless a `cors` policy is configured: these documents are public. */
export function allowAnyOrigin(exchange: Exchange, reply: Reply, methods: string): Reply {
  if (exchange.policies.some(({ kind }) => kind === 'cors')) return reply
  const { head } = reply
  head.add('access-control-allow-origin', '*')
  head.add('access-control-allow-methods', `${methods}, OPTIONS`)
  head.add('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version')
  return reply
}
