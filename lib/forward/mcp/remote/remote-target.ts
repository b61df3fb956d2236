// A remote target as its links ask it: the pool of its origin, and what its policies make of each request.

import type { McpTarget } from '../../../config/backend-types.ts'
import type { McpLimits } from '../../../core/bounds.ts'
import type { RequestHead } from '../../../core/head.ts'
import type { Log } from '../../../core/log.ts'
import type { CancellableCall } from '../../../core/types.ts'
import { TracedResponseReceiver } from '../../backend-attempt.ts'
import { createRequestHead, sendInternalRequest } from '../../http/internal-request.ts'
import type { ResponseReceiver } from '../../http/internal-request.ts'
import type { ConnectionPool } from '../../http/pool.ts'
import type { ForwardedHeaders, TracedMessage } from '../target-link.ts'

export type RemoteTarget = Extract<McpTarget, { kind: 'mcp' | 'sse' }>

/** One for all sessions of a target. */
export interface RemoteTargetContext {
  readonly target: RemoteTarget
  /** That of the target's origin. */
  readonly pool: ConnectionPool
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
  readonly fields: ForwardedHeaders
  /** Those of the transport: they stand, whatever a client or a policy says. */
  readonly own: ForwardedHeaders
  readonly body?: Buffer
  /** Milliseconds to the answer's head, or 0. */
  readonly deadline: number
  /** Where somebody watches. */
  readonly traced?: TracedMessage | null | undefined
}

export function sendToRemoteTarget(
  remote: RemoteTargetContext,
  request: RemoteRequest,
  asker: ResponseReceiver,
): CancellableCall {
  const { target, pool } = remote
  const path = request.path ?? target.path
  const isPassing = target.auth?.kind === 'passthrough'
  const fields = request.fields
    .filter(([, , only]) => only === undefined || isPassing)
    .map(([name, value]) => [name, value] as const)
  const head = createRequestHead(request.method, addPathCredential(path, target), fields)
  applyPolicies(head, target)
  for (const [name, value] of request.own) head.set(name, value)
  const { body = null, deadline, traced = null } = request
  // A call that a server has begun and died of must not run a second time.
  const sending = request.method === 'POST' ? 'once' : 'again'
  const question = { head, body, deadline, sending } as const
  if (traced === null) return sendInternalRequest(pool, question, asker)
  const { label } = pool.origin
  const call = traced.sentByHttp(label, { request: head, host: label })
  return sendInternalRequest(pool, question, new TracedResponseReceiver(asker, call, body))
}

/** Says at debug what went wrong with something nobody waits for. */
export function logRemoteProblem(
  remote: RemoteTargetContext,
  message: string,
  reason: string,
): void {
  remote.log.write('debug', 'mcp', message, ['target', remote.target.name, 'reason', reason])
}

export function describeTooLongMessage({ target, limits }: RemoteTargetContext): string {
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

function addPathCredential(path: string, { auth }: RemoteTarget): string {
  if (auth?.kind !== 'query') return path
  const parameter = `${encodeURIComponent(auth.name)}=${encodeURIComponent(auth.key.reveal())}`
  return path + (path.includes('?') ? '&' : '?') + parameter
}

// How a session with a target begins: `initialize`, its answer, `notifications/initialized`, and only then the rest.
// Over HTTP each message travels on its own, so what comes behind the notification waits until that has arrived.

type HandshakeState = 'fresh' | 'asked' | 'answered' | 'telling' | 'done'

const HANDSHAKE_TRANSITIONS: Record<HandshakeState, readonly HandshakeState[]> = {
  fresh: ['asked'],
  asked: ['answered', 'fresh'],
  answered: ['telling', 'fresh'],
  telling: ['done', 'fresh'],
  done: ['fresh'],
}

export class Handshake {
  #state: HandshakeState = 'fresh'
  #number = 0

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** `initialize` was answered. */
  get hasBegun(): boolean {
    return this.#state !== 'fresh' && this.#state !== 'asked'
  }

  /** The notification is under way: nothing may overtake it. */
  get isNotifying(): boolean {
    return this.#state === 'telling'
  }

  /** What a message that goes out now is: the first request is `initialize`, and a notification ends it. */
  classifyOutgoing(number: number): 'initialize' | 'initialized' | 'other' {
    if (this.#state === 'fresh' && number !== 0) {
      this.#move('asked')
      this.#number = number
      return 'initialize'
    }
    if (this.#state !== 'answered' || number !== 0) return 'other'
    this.#move('telling')
    return 'initialized'
  }

  /** Whether this is the request whose answer is awaited to begin. */
  isInitialize(number: number): boolean {
    return this.#state === 'asked' && number === this.#number
  }

  answered(): void {
    this.#move('answered')
  }

  /** The notification has arrived, or never will. */
  notified(): void {
    this.#move('done')
  }

  /** From the start again. */
  reset(): void {
    if (this.#state !== 'fresh') this.#move('fresh')
  }

  #move(to: HandshakeState): void {
    if (!HANDSHAKE_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp handshake: ${this.#state} → ${to}`)
    this.#state = to
  }
}
