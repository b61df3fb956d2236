// Requests of clients that are handed on to an identity provider, and what of its answers is meant for them.

import { errorMessageOf } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Log } from '../../core/log.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import { buildReply } from '../../core/replies.ts'
import type { Reply } from '../../core/types.ts'
import type { FetchDocument, FetchedDocument } from '../../http/fetch-document.ts'
import type { IdentityStore } from '../auth/identity.ts'

/** Calls under way at once: they need no token, so they must not pile up before a provider that hangs. */
export const MAX_PROVIDER_CALLS = 64

/** How much of a refusal is looked at for its code. */
const MAX_ERROR_BYTES_READ = 4_096

/** What is passed on; cookies and everything of the connection are not. */
const FORWARDED_HEADERS = [
  'content-type',
  'content-encoding',
  'cache-control',
  'pragma',
  'www-authenticate',
  'retry-after',
]

/** A page of the provider's must not act as one of the gateway's. */
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
  readonly #fetch: FetchDocument
  readonly #log: Log
  readonly #refusals: RefusalCounter
  #underWay = 0

  constructor({ post, log, refusals }: Pick<IdentityStore, 'post' | 'log' | 'refusals'>) {
    this.#fetch = post
    this.#refusals = refusals
    this.#log = log
  }

  /** The provider's answer, refusals included, or why there is none. `what` is for the log. */
  async post(what: string, posted: ProviderPost): Promise<Reply> {
    if (this.#underWay >= MAX_PROVIDER_CALLS) {
      this.#refusals.count('providerCalls', MAX_PROVIDER_CALLS)
      return createOAuthErrorReply(
        503,
        'temporarily_unavailable',
        'too many requests wait for the provider',
      )
    }
    this.#underWay++
    try {
      return await this.#send(what, posted)
    } finally {
      this.#underWay--
    }
  }

  async #send(what: string, { url, headers, body }: ProviderPost): Promise<Reply> {
    const { host } = new URL(url)
    let fetched: FetchedDocument
    try {
      fetched = await this.#fetch(url, { method: 'POST', headers, body })
    } catch (error) {
      const why = errorMessageOf(error)
      this.#log.write('warn', 'auth', `${what} without an answer`, ['host', host, 'error', why])
      return createProviderDownReply(`${host} does not answer`)
    }
    const { status, bytes } = fetched
    if (status >= 400)
      this.#log.write('info', 'auth', `${what} refused`, [
        ...['host', host, 'status', status],
        ...['error', errorCodeIn(bytes)],
      ])
    // Whoever posts a code or a registration is not sent on with it.
    if (status >= 300 && status < 400)
      return createProviderDownReply(`${host} answered with status ${status}`)
    return createProviderReply(fetched)
  }
}

function createProviderReply({ status, headers, bytes }: FetchedDocument): Reply {
  const fields = FORWARDED_HEADERS.flatMap((name) =>
    [headers[name] ?? []].flat().map((value) => [name, value] as const),
  )
  return buildReply(status, [...fields, ...ISOLATION_HEADERS], bytes)
}

/** The codes of a refusal; its words may repeat what the client sent. */
function errorCodeIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, MAX_ERROR_BYTES_READ)
  const [, error] = /"error"\s*:\s*"([\w.-]{1,64})"/.exec(start) ?? []
  const [detail] = /\bAADSTS\d{1,9}\b/.exec(start) ?? []
  return [error, detail].filter((one) => one !== undefined).join(' ') || undefined
}

// Answers of the OAuth side: JSON for any page to read, since these documents are public.

export function createPublicJsonReply(status: number, value: unknown): Reply {
  return buildReply(status, [['content-type', 'application/json']], JSON.stringify(value))
}

/** RFC 6749 5.2, RFC 7591 3.2.2 */
export function createOAuthErrorReply(status: number, error: string, description: string): Reply {
  return createPublicJsonReply(status, { error, error_description: description })
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

/** The provider does not answer, or not as it should: not the client's fault, and not ours. */
export function createProviderDownReply(reason: string): Reply {
  return createOAuthErrorReply(
    502,
    'temporarily_unavailable',
    `the identity provider is down: ${reason}`,
  )
}

/** It answers, but not with what a client could use. */
export function createProviderUnusableReply(reason: string): Reply {
  const description = `the identity provider's metadata cannot be used: ${reason}`
  return createOAuthErrorReply(502, 'temporarily_unavailable', description)
}

/** Lets every page read the answer, unless a `cors` policy says who may. */
export function allowAnyOrigin(exchange: Exchange, reply: Reply, methods: string): Reply {
  if (exchange.enforcement.responsePolicies.some(({ kind }) => kind === 'cors')) return reply
  const { head } = reply
  head.add('access-control-allow-origin', '*')
  head.add('access-control-allow-methods', `${methods}, OPTIONS`)
  head.add('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version')
  return reply
}
