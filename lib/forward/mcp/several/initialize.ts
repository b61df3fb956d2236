// Handles `initialize`: starts all targets of a session and merges their answers into one.

import { VERSION } from '../../../core/version.ts'
import { RPC_CODES } from '../json-rpc.ts'
import type { ClientCall } from '../session/client-call.ts'
import { objectOrEmpty } from '../session/target.ts'
import type { SessionTarget, TargetProfile } from '../session/target.ts'
import type { McpSession } from '../session/session.ts'
import { FAILED_TARGETS } from './gather.ts'
import type { TargetFailure } from './gather.ts'

/** Starts every target and answers the call; `done` gets whether the session is started. */
export function initializeTargets(
  session: McpSession,
  call: ClientCall,
  done: (isStarted: boolean) => void,
): void {
  const [target, ...others] = session.targets
  if (others.length === 0 && session.group.names.style === 'plain')
    initializeOnlyTarget(call, target!, done)
  else new TargetsInitialization(session, call, done).start()
}

/** Forwards the answer of the only target. */
function initializeOnlyTarget(
  call: ClientCall,
  target: SessionTarget,
  done: (isStarted: boolean) => void,
): void {
  target.start({
    trace: call.traceTo(target),
    answered: (message) => {
      done(message.result !== null)
      call.answer(message.withId(call.idText))
    },
    failed: (reason, reply) => {
      done(false)
      const error = { code: RPC_CODES.internal, message: reason, data: { target: target.name } }
      if (reply === null) call.refuse(500, error)
      else call.relay(reply, error)
    },
  })
}

/** Starts all targets at once. In `failOpen` mode, a slow target does not delay the others beyond `listTimeout`. */
class TargetsInitialization {
  readonly #session: McpSession
  readonly #call: ClientCall
  readonly #done: (isStarted: boolean) => void
  readonly #failures: TargetFailure[] = []
  /** Targets that have neither answered nor failed. */
  readonly #open: Set<SessionTarget>
  #state: 'waiting' | 'timedOut' | 'answered' = 'waiting'
  #timer: NodeJS.Timeout | undefined

  constructor(session: McpSession, call: ClientCall, done: (isStarted: boolean) => void) {
    this.#session = session
    this.#call = call
    this.#done = done
    this.#open = new Set(session.targets)
  }

  start(): void {
    const { targets, group } = this.#session
    const { listTimeout } = group.limits
    if (group.config.failureMode === 'failOpen')
      this.#timer = setTimeout(() => {
        this.#state = 'timedOut'
        this.#settle(null)
      }, listTimeout)
    this.#call.whenOver(() => clearTimeout(this.#timer))
    for (const target of targets)
      target.start({
        trace: this.#call.traceTo(target),
        answered: (message) => {
          if (message.result === null) this.#recordFailure(target, 'refused initialize')
          else if (this.#state === 'answered') return this.#session.targetJoined(target)
          this.#settle(target)
        },
        failed: (reason, reply) => {
          reply?.body.cancel()
          this.#failures.push({ target: target.name, reason })
          this.#settle(target)
        },
      })
  }

  #settle(target: SessionTarget | null): void {
    if (target !== null) this.#open.delete(target)
    const ready = this.#session.targets.filter(({ state }) => state === 'ready')
    const isEnough = this.#open.size === 0 || (this.#state === 'timedOut' && ready.length > 0)
    if (this.#state === 'answered' || !isEnough) return
    this.#state = 'answered'
    for (const slow of this.#open)
      this.#recordFailure(slow, 'is still starting (config.mcp.listTimeout)')
    this.#answerClient(ready)
  }

  #recordFailure({ name }: SessionTarget, problem: string): void {
    this.#failures.push({ target: name, reason: `target '${name}' ${problem}` })
  }

  #answerClient(ready: readonly SessionTarget[]): void {
    const failures = this.#failures
    const { failureMode } = this.#session.group.config
    const isStarted = failureMode === 'failOpen' ? ready.length > 0 : failures.length === 0
    this.#done(isStarted)
    if (isStarted)
      return this.#call.result(formatMergedResult(this.#session, this.#call, ready, failures))
    const message = failures[0]?.reason ?? 'no target'
    this.#call.refuse(500, { code: RPC_CODES.internal, message, data: { failures } })
  }
}

const INTRODUCTION =
  'This server is a gateway to several MCP servers. Names of tools and prompts start with the name of the server they belong to.'

function formatMergedResult(
  session: McpSession,
  call: ClientCall,
  ready: readonly SessionTarget[],
  failures: readonly TargetFailure[],
): string {
  const profiles = ready.flatMap(({ profile }) => (profile === null ? [] : [profile]))
  const requested = call.message.textParam('protocolVersion') ?? ''
  // Versions are dates: the oldest is the one that all targets support.
  const versions = [requested, ...profiles.map(({ version }) => version)]
    .filter((version) => version !== '')
    .toSorted()
  const instructions = ready.flatMap(({ name, profile }) =>
    profile === null || profile.instructions === '' ? [] : [`[${name}]\n${profile.instructions}`],
  )
  const introduction = session.group.names.style === 'prefixed' ? [INTRODUCTION] : []
  return JSON.stringify({
    protocolVersion: versions[0],
    capabilities: mergeCapabilities(profiles),
    serverInfo: { name: 'gateway', title: 'Gateway', version: VERSION },
    instructions: [...introduction, ...instructions].join('\n\n'),
    ...(failures.length === 0 ? {} : { _meta: { [FAILED_TARGETS]: failures } }),
  })
}

/** The capabilities of any target. `listChanged` is always set, as a restarted target may have other lists. */
function mergeCapabilities(profiles: readonly TargetProfile[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {}
  for (const { capabilities } of profiles)
    for (const [name, value] of Object.entries(capabilities))
      merged[name] = { ...objectOrEmpty(merged[name]), ...keepTrueMembers(objectOrEmpty(value)) }
  for (const name of ['tools', 'prompts', 'resources'])
    if (Object.hasOwn(merged, name))
      merged[name] = { ...objectOrEmpty(merged[name]), listChanged: true }
  return merged
}

/** A `false` of one target must not override the `true` of another. */
function keepTrueMembers(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== false))
}
