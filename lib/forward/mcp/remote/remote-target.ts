// Sends requests to a remote target with its policies and credentials, and tracks the `initialize` handshake.

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

/** What the links of all sessions of a remote target share. */
export interface RemoteTargetContext {
  readonly target: RemoteTarget
  /** The connection pool of the target's origin. */
  readonly pool: ConnectionPool
  readonly limits: Pick<McpLimits, 'maxMessageBytes'>
  readonly log: Log
  /** A remote session is being deleted; the shutdown waits for this promise, which has a deadline. */
  leaving(ended: Promise<void>): void
}

export interface RemoteRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** Path and query, if they differ from the configured ones. */
  readonly path?: string
  /** Client headers. */
  readonly fields: ForwardedHeaders
  /** Headers of the transport, which override those of the client and of policies. */
  readonly own: ForwardedHeaders
  readonly body?: Buffer
  /** Milliseconds to the response head; 0 for none. */
  readonly deadline: number
  /** Set while the client's request is traced. */
  readonly traced?: TracedMessage | null | undefined
}

export function sendToRemoteTarget(
  remote: RemoteTargetContext,
  request: RemoteRequest,
  receiver: ResponseReceiver,
): CancellableCall {
  const { target, pool } = remote
  const path = request.path ?? target.path
  const getsCredentials = target.auth?.kind === 'passthrough'
  const fields = request.fields
    .filter(([, , only]) => only === undefined || getsCredentials)
    .map(([name, value]) => [name, value] as const)
  const head = createRequestHead(request.method, addPathCredential(path, target), fields)
  applyPolicies(head, target)
  for (const [name, value] of request.own) head.set(name, value)
  const { body = null, deadline, traced = null } = request
  const internalRequest = { head, body, deadline }
  if (traced === null) return sendInternalRequest(pool, internalRequest, receiver)
  const { label } = pool.origin
  const call = traced.sentByHttp(label, { request: head, host: label })
  return sendInternalRequest(
    pool,
    internalRequest,
    new TracedResponseReceiver(receiver, call, body),
  )
}

/** Logs, at debug, a failure that no request waits for. */
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

/** `notifying`: `notifications/initialized` was sent but its POST is not answered. */
type HandshakeState = 'fresh' | 'initializing' | 'answered' | 'notifying' | 'done'

const HANDSHAKE_TRANSITIONS: Record<HandshakeState, readonly HandshakeState[]> = {
  fresh: ['initializing'],
  initializing: ['answered', 'fresh'],
  answered: ['notifying', 'fresh'],
  notifying: ['done', 'fresh'],
  done: ['fresh'],
}

/**
 * The start of a remote session: `initialize`, its answer, `notifications/initialized`, then all other messages. Each
 * message is its own HTTP request, so messages after the notification wait until it has arrived.
 */
export class Handshake {
  #state: HandshakeState = 'fresh'
  #number = 0

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** Whether `initialize` was answered. */
  get hasBegun(): boolean {
    return this.#state !== 'fresh' && this.#state !== 'initializing'
  }

  /** Whether the notification is on its way: no message may overtake it. */
  get isNotifying(): boolean {
    return this.#state === 'notifying'
  }

  /** Classifies the next message: the first request is `initialize`, the first notification after its answer ends it. */
  classifyOutgoing(number: number): 'initialize' | 'initialized' | 'other' {
    if (this.#state === 'fresh' && number !== 0) {
      this.#move('initializing')
      this.#number = number
      return 'initialize'
    }
    if (this.#state !== 'answered' || number !== 0) return 'other'
    this.#move('notifying')
    return 'initialized'
  }

  /** Whether this is the number of the unanswered `initialize`. */
  isInitialize(number: number): boolean {
    return this.#state === 'initializing' && number === this.#number
  }

  answered(): void {
    this.#move('answered')
  }

  /** The notification has arrived or failed. */
  notified(): void {
    this.#move('done')
  }

  reset(): void {
    if (this.#state !== 'fresh') this.#move('fresh')
  }

  #move(to: HandshakeState): void {
    if (!HANDSHAKE_TRANSITIONS[this.#state].includes(to))
      throw new Error(`mcp handshake: ${this.#state} → ${to}`)
    this.#state = to
  }
}
