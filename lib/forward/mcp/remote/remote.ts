// A remote target as its links ask it: the pool of its origin, and what its policies make of each request.

import type { McpLimits } from '../../../base/bounds/limits.ts'
import type { McpTarget } from '../../../base/config/mcp-types.ts'
import type { Log } from '../../../base/log/log.ts'
import type { Call } from '../../../base/types.ts'
import type { RequestHead } from '../../../base/wire/head.ts'
import { ask, requestHead } from '../../http/ask.ts'
import type { Asker } from '../../http/ask.ts'
import type { Pool } from '../../http/pool.ts'
import { TracedAsker } from '../../traced-attempt.ts'
import type { TracedMessage } from '../traced-message.ts'
import type { SentFields } from '../types.ts'

export type RemoteTarget = Extract<McpTarget, { kind: 'mcp' | 'sse' }>

/** One for all sessions of a target. */
export interface Remote {
  readonly target: RemoteTarget
  /** That of the target's origin. */
  readonly pool: Pool
  readonly limits: Pick<McpLimits, 'maxMessageBytes'>
  readonly log: Log
  /** A session there is being ended; whoever stops the process waits for that, for it is bounded. */
  leaving(over: Promise<void>): void
}

export interface RemoteRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** Path and query, where they are not those of the configuration. */
  readonly path?: string
  /** The client's. */
  readonly fields: SentFields
  /** Those of the transport: they stand, whatever a client or a policy says. */
  readonly own: SentFields
  readonly body?: Buffer
  /** Milliseconds to the answer's head, or 0. */
  readonly deadline: number
  /** Where somebody watches. */
  readonly traced?: TracedMessage | null | undefined
}

export function askRemote(remote: Remote, request: RemoteRequest, asker: Asker): Call {
  const { target, pool } = remote
  const path = request.path ?? target.path
  const isPassing = target.auth?.kind === 'passthrough'
  const fields = request.fields
    .filter(([, , only]) => only === undefined || isPassing)
    .map(([name, value]) => [name, value] as const)
  const head = requestHead(request.method, authorizedPath(path, target), fields)
  applyPolicies(head, target)
  for (const [name, value] of request.own) head.set(name, value)
  const { body = null, deadline, traced = null } = request
  // A call that a server has begun and died of must not run a second time.
  const sending = request.method === 'POST' ? 'once' : 'again'
  const question = { head, body, deadline, sending } as const
  if (traced === null) return ask(pool, question, asker)
  const { label } = pool.origin
  const call = traced.called(label, { request: head, host: label })
  return ask(pool, question, new TracedAsker(asker, call, body))
}

/** Says at debug what went wrong with something nobody waits for. */
export function note(remote: Remote, message: string, reason: string): void {
  remote.log.line('debug', 'mcp', message, ['target', remote.target.name, 'reason', reason])
}

export function tooLong({ target, limits }: Remote): string {
  const limit = `${limits.maxMessageBytes} bytes (config.mcp.maxMessageBytes)`
  return `target '${target.name}' sent a message above the limit of ${limit}`
}

function applyPolicies(head: RequestHead, { requestHeaderModifier, auth }: RemoteTarget): void {
  if (requestHeaderModifier !== null) {
    const { add, set, remove } = requestHeaderModifier
    for (const name of remove) head.remove(name)
    for (const [name, value] of set) head.set(name, value)
    for (const [name, value] of add) head.add(name, value)
  }
  if (auth?.kind === 'header') head.set(auth.name.toLowerCase(), auth.prefix + auth.key.reveal())
}

function authorizedPath(path: string, { auth }: RemoteTarget): string {
  if (auth?.kind !== 'query') return path
  const parameter = `${encodeURIComponent(auth.name)}=${encodeURIComponent(auth.key.reveal())}`
  return path + (path.includes('?') ? '&' : '?') + parameter
}
