// `initialize` for several targets: they start together, and what they said becomes one answer.

import { VERSION } from '../../../base/version.ts'
import { CODES } from '../rpc.ts'
import type { Call } from '../session/call.ts'
import { objectOr } from '../session/profile.ts'
import type { Profile } from '../session/profile.ts'
import type { Session } from '../session/session.ts'
import type { Target } from '../session/target.ts'
import { FAILED_TARGETS } from './failures.ts'
import type { Failure } from './gather.ts'

/** Starts every target and answers; `begun` hears whether there is a session now. */
export function initialize(session: Session, call: Call, begun: (isThere: boolean) => void): void {
  const [target, ...others] = session.targets
  if (others.length === 0 && session.group.names.style === 'plain') alone(call, target!, begun)
  else together(session, call, begun)
}

/** The only target's answer is the answer. */
function alone(call: Call, target: Target, begun: (isThere: boolean) => void): void {
  target.start({
    trace: call.traceTo(target),
    answered: (message) => {
      begun(message.result !== null)
      call.answer(message.withId(call.idText))
    },
    failed: (reason, reply) => {
      begun(false)
      const error = { code: CODES.internal, message: reason, data: { target: target.name } }
      if (reply === null) call.refuse(500, error)
      else call.relay(reply, error)
    },
  })
}

function together(session: Session, call: Call, begun: (isThere: boolean) => void): void {
  new Greeting(session, call, begun).start()
}

/** All targets begin at once; one that takes its time does not hold up those that are there. */
class Greeting {
  readonly #session: Session
  readonly #call: Call
  readonly #begun: (isThere: boolean) => void
  readonly #failures: Failure[] = []
  /** Those that have neither answered nor failed. */
  readonly #open: Set<Target>
  #state: 'waiting' | 'impatient' | 'told' = 'waiting'
  #timer: NodeJS.Timeout | undefined

  constructor(session: Session, call: Call, begun: (isThere: boolean) => void) {
    this.#session = session
    this.#call = call
    this.#begun = begun
    this.#open = new Set(session.targets)
  }

  start(): void {
    const { targets, group } = this.#session
    const { listTimeout } = group.limits
    if (group.config.failureMode === 'failOpen')
      this.#timer = setTimeout(() => this.#hurry(), listTimeout)
    this.#call.whenOver(() => clearTimeout(this.#timer))
    for (const target of targets)
      target.start({
        trace: this.#call.traceTo(target),
        answered: (message) => {
          if (message.result === null) this.#missing(target, 'refused initialize')
          else if (this.#state === 'told') return this.#session.joined(target)
          this.#settle(target)
        },
        failed: (reason, reply) => {
          reply?.body.cancel()
          this.#failures.push({ target: target.name, reason })
          this.#settle(target)
        },
      })
  }

  #hurry(): void {
    this.#state = 'impatient'
    this.#settle(null)
  }

  #settle(target: Target | null): void {
    if (target !== null) this.#open.delete(target)
    const ready = this.#session.targets.filter(({ state }) => state === 'ready')
    const isEnough = this.#open.size === 0 || (this.#state === 'impatient' && ready.length > 0)
    if (this.#state === 'told' || !isEnough) return
    this.#state = 'told'
    for (const slow of this.#open) this.#missing(slow, 'is still starting (config.mcp.listTimeout)')
    this.#tell(ready)
  }

  #missing({ name }: Target, why: string): void {
    this.#failures.push({ target: name, reason: `target '${name}' ${why}` })
  }

  #tell(ready: readonly Target[]): void {
    const failures = this.#failures
    const { failureMode } = this.#session.group.config
    const isThere = failureMode === 'failOpen' ? ready.length > 0 : failures.length === 0
    this.#begun(isThere)
    if (isThere) return this.#call.result(mergedText(this.#session, this.#call, ready, failures))
    const message = failures[0]?.reason ?? 'no target'
    this.#call.refuse(500, { code: CODES.internal, message, data: { failures } })
  }
}

const INTRODUCTION =
  'This server is a gateway to several MCP servers. Names of tools and prompts start with the name of the server they belong to.'

function mergedText(
  session: Session,
  call: Call,
  ready: readonly Target[],
  failures: readonly Failure[],
): string {
  const profiles = ready.flatMap(({ profile }) => (profile === null ? [] : [profile]))
  const asked = call.message.textParam('protocolVersion') ?? ''
  // Versions are dates: the oldest is the one that all of them speak.
  const versions = [asked, ...profiles.map(({ version }) => version)].filter((one) => one !== '')
  const parts = ready.flatMap(({ name, profile }) =>
    profile === null || profile.instructions === '' ? [] : [`[${name}]\n${profile.instructions}`],
  )
  const introduction = session.group.names.style === 'prefixed' ? [INTRODUCTION] : []
  return JSON.stringify({
    protocolVersion: versions.toSorted()[0],
    capabilities: mergedCapabilities(profiles),
    serverInfo: { name: 'gateway', title: 'Gateway', version: VERSION },
    instructions: [...introduction, ...parts].join('\n\n'),
    ...(failures.length === 0 ? {} : { _meta: { [FAILED_TARGETS]: failures } }),
  })
}

/** What any of them offers. Lists can change at any time: a target may come back with others. */
function mergedCapabilities(profiles: readonly Profile[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {}
  for (const { capabilities } of profiles)
    for (const [name, value] of Object.entries(capabilities))
      merged[name] = { ...objectOr(merged[name]), ...trueOnes(objectOr(value)) }
  for (const name of ['tools', 'prompts', 'resources'])
    if (Object.hasOwn(merged, name)) merged[name] = { ...objectOr(merged[name]), listChanged: true }
  return merged
}

/** A `false` of one target must not hide the `true` of another. */
function trueOnes(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== false))
}
