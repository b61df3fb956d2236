// Counts requests and tokens by user: the subject of a token, the user of an API key, or the name of basic authentication.

import type { ExchangeFacts, LlmFacts } from '../core/facts.ts'
import { OTHER_LABEL } from '../core/metric-families.ts'
import type { MetricFamily, MetricLabels } from '../core/metric-families.ts'

/** Users with their own series; the others are counted together. */
export const MAX_USER_SERIES = 1_000
/** Characters of a name in a label. */
const MAX_USER_LENGTH = 64

/** The fact that names the user, as the log and expressions call it, and the name. */
export type IdentifiedUser = readonly [fact: string, name: string]

const NO_USERS: readonly IdentifiedUser[] = []

/** The users that the credentials of a request name; usually one or none. */
export function usersOf(facts: ExchangeFacts | null): readonly IdentifiedUser[] {
  if (facts === null) return NO_USERS
  const { jwt, apiKey, basicAuth } = facts
  if (jwt === undefined && apiKey === undefined && basicAuth === undefined) return NO_USERS
  const users: IdentifiedUser[] = []
  const subject = nameOf(jwt?.get('sub'))
  if (subject !== undefined) users.push(['jwt.sub', subject])
  const userId = nameOf(apiKey?.get('user_id'))
  const keyName = nameOf(apiKey?.get('name'))
  if (userId !== undefined) users.push(['apiKey.user_id', userId])
  else if (keyName !== undefined) users.push(['apiKey.name', keyName])
  if (basicAuth !== undefined) users.push(['basicAuth.username', basicAuth.username])
  return users
}

/** Metadata may be a number, which YAML does not quote. */
function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

class UserCounts {
  readonly labels: MetricLabels
  requests = 0
  inputTokens = 0
  outputTokens = 0

  constructor(identity: string, user: string) {
    this.labels = { identity, user }
  }
}

export class UserMetrics {
  readonly #users = new Map<string, UserCounts>()
  #others: UserCounts | null = null

  /** Counts for the first user only. */
  count(users: readonly IdentifiedUser[], llm: LlmFacts | undefined): void {
    const user = users[0]
    if (user === undefined) return
    const counts = this.#countsOf(user)
    counts.requests++
    counts.inputTokens += llm?.inputTokens ?? 0
    counts.outputTokens += llm?.outputTokens ?? 0
  }

  collect(): MetricFamily[] {
    const users = [...this.#users.values(), ...(this.#others === null ? [] : [this.#others])]
    return [
      {
        name: 'user_requests_total',
        kind: 'counter',
        help: 'Requests of authenticated users',
        series: users.map(({ labels, requests }) => [labels, requests]),
      },
      {
        name: 'user_tokens_total',
        kind: 'counter',
        help: 'LLM tokens of authenticated users; cached tokens are part of the input',
        series: users.flatMap(({ labels, inputTokens, outputTokens }) => [
          [{ ...labels, gen_ai_token_type: 'input' }, inputTokens],
          [{ ...labels, gen_ai_token_type: 'output' }, outputTokens],
        ]),
      },
    ]
  }

  #countsOf([fact, name]: IdentifiedUser): UserCounts {
    const identity = fact.slice(0, fact.indexOf('.'))
    const user = name.slice(0, MAX_USER_LENGTH)
    const key = `${identity} ${user}`
    let counts = this.#users.get(key)
    if (counts !== undefined) return counts
    if (this.#users.size >= MAX_USER_SERIES)
      return (this.#others ??= new UserCounts(OTHER_LABEL, OTHER_LABEL))
    counts = new UserCounts(identity, user)
    this.#users.set(key, counts)
    return counts
  }
}
