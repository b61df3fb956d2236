// One question to several targets: what each of them had to say, as far as it came in time.

import type { RpcMessage } from '../json-rpc.ts'
import type { ClientCall } from '../session/client-call.ts'
import type { SessionTarget } from '../session/target.ts'

export interface TargetFailure {
  readonly target: string
  readonly reason: string
}

export interface GatheredResults<T> {
  /** In the order of the targets. */
  readonly found: readonly T[]
  readonly failures: readonly TargetFailure[]
}

/** The question as it stands with one target: more can be asked until it is settled. */
export class TargetQuery<T> {
  readonly target: SessionTarget
  readonly #call: ClientCall
  readonly #settled: () => void
  #number = 0
  outcome: { readonly value: T } | { readonly reason: string } | null = null

  constructor(call: ClientCall, target: SessionTarget, settled: () => void) {
    this.#call = call
    this.target = target
    this.#settled = settled
  }

  /** A failure of the target, or an error of its own, settles the inquiry. */
  ask(make: (idText: string) => Buffer, answered: (message: RpcMessage) => void): void {
    this.#number = this.#call.sendToTarget(this.target, make, {
      answered: (message) => {
        if (message.error !== null) this.fail(describeRpcError(this.target.name, message))
        else answered(message)
      },
      failed: (reason, reply) => {
        reply?.body.cancel()
        this.fail(reason)
      },
    })
  }

  settle(value: T): void {
    this.outcome ??= { value }
    this.#settled()
  }

  fail(reason: string): void {
    this.outcome ??= { reason }
    this.#settled()
  }

  expire(timeout: number): void {
    if (this.outcome !== null) return
    this.#call.abandonTargetRequest(this.#number, 'timed out')
    const within = `within ${timeout} ms (config.mcp.listTimeout)`
    this.fail(`target '${this.target.name}' did not answer ${within}`)
  }
}

export interface GatherOptions<T> {
  readonly call: ClientCall
  readonly targets: readonly SessionTarget[]
  /** How long one target may hold up the others. */
  readonly timeout: number
  ask(inquiry: TargetQuery<T>): void
}

export function gatherFromTargets<T>(
  question: GatherOptions<T>,
  done: (all: GatheredResults<T>) => void,
): void {
  const { call, targets, timeout } = question
  let state: 'open' | 'told' = 'open'
  const settled = (): void => {
    if (state === 'told' || inquiries.some(({ outcome }) => outcome === null)) return
    state = 'told'
    clearTimeout(timer)
    if (!call.isOver) done(combineResults(inquiries))
  }
  const inquiries = targets.map((target) => new TargetQuery<T>(call, target, settled))
  const timer = setTimeout(() => {
    for (const inquiry of inquiries) inquiry.expire(timeout)
  }, timeout)
  call.whenOver(() => clearTimeout(timer))
  for (const inquiry of inquiries) question.ask(inquiry)
  settled()
}

function combineResults<T>(inquiries: readonly TargetQuery<T>[]): GatheredResults<T> {
  const found: T[] = []
  const failures: TargetFailure[] = []
  for (const { target, outcome } of inquiries)
    if (outcome !== null && 'value' in outcome) found.push(outcome.value)
    else failures.push({ target: target.name, reason: outcome?.reason ?? '' })
  return { found, failures }
}

/** By code: the target's own words may be long, and are not for the log. */
function describeRpcError(target: string, message: RpcMessage): string {
  const error: unknown = JSON.parse(message.text(message.error!))
  const code: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  return `target '${target}' answered error ${typeof code === 'number' ? code : 'without a code'}`
}

// How clients are told of targets that are missing from an answer.

export const FAILED_TARGETS = 'gateway/failedTargets'

/** The `_meta` of a result that lacks some targets' part. */
export function formatTargetFailures(failures: readonly TargetFailure[]): string {
  return JSON.stringify({ [FAILED_TARGETS]: failures })
}
