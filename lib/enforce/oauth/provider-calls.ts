// Requests of clients that are handed on to an identity provider, and what of its answers is meant for them.

import type { Refusals } from '../../base/bounds/refusals.ts'
import { messageOf } from '../../base/errors.ts'
import type { Fetch, Fetched } from '../../base/fetch-text.ts'
import type { Log } from '../../base/log/log.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply } from '../../base/types.ts'
import type { Identity } from '../identity.ts'
import { downReply, errorReply } from './replies.ts'

/** Calls under way at once: they need no token, so they must not pile up before a provider that hangs. */
export const MAX_CALLS = 64

/** How much of a refusal is looked at for its code. */
const LOOKED_AT = 4_096

/** What is passed on; cookies and everything of the connection are not. */
const PASSED = [
  'content-type',
  'content-encoding',
  'cache-control',
  'pragma',
  'www-authenticate',
  'retry-after',
]

/** A page of the provider's must not act as one of the gateway's. */
const GUARDS = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; sandbox"],
] as const

export interface Posted {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export class ProviderCalls {
  readonly #fetch: Fetch
  readonly #log: Log
  readonly #refusals: Refusals
  #underWay = 0

  constructor({ post, log, refusals }: Pick<Identity, 'post' | 'log' | 'refusals'>) {
    this.#fetch = post
    this.#refusals = refusals
    this.#log = log
  }

  /** The provider's answer, refusals included, or why there is none. `what` is for the log. */
  async post(what: string, posted: Posted): Promise<Reply> {
    if (this.#underWay >= MAX_CALLS) {
      this.#refusals.count('providerCalls', MAX_CALLS)
      return errorReply(503, 'temporarily_unavailable', 'too many requests wait for the provider')
    }
    this.#underWay++
    try {
      return await this.#pass(what, posted)
    } finally {
      this.#underWay--
    }
  }

  async #pass(what: string, { url, headers, body }: Posted): Promise<Reply> {
    const { host } = new URL(url)
    let fetched: Fetched
    try {
      fetched = await this.#fetch(url, { method: 'POST', headers, body })
    } catch (error) {
      const why = messageOf(error)
      this.#log.line('warn', 'auth', `${what} without an answer`, ['host', host, 'error', why])
      return downReply(`${host} does not answer`)
    }
    const { status, bytes } = fetched
    if (status >= 400)
      this.#log.line('info', 'auth', `${what} refused`, [
        ...['host', host, 'status', status],
        ...['error', codeIn(bytes)],
      ])
    // Whoever posts a code or a registration is not sent on with it.
    if (status >= 300 && status < 400) return downReply(`${host} answered with status ${status}`)
    return passedOn(fetched)
  }
}

function passedOn({ status, headers, bytes }: Fetched): Reply {
  const fields = PASSED.flatMap((name) =>
    [headers[name] ?? []].flat().map((value) => [name, value] as const),
  )
  return replyOf(status, [...fields, ...GUARDS], bytes)
}

/** The codes of a refusal; its words may repeat what the client sent. */
function codeIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, LOOKED_AT)
  const [, error] = /"error"\s*:\s*"([\w.-]{1,64})"/.exec(start) ?? []
  const [detail] = /\bAADSTS\d{1,9}\b/.exec(start) ?? []
  return [error, detail].filter((one) => one !== undefined).join(' ') || undefined
}
