// Sends one request to several targets and gathers the results and failures within a timeout.

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

/** The query to one target; it may send several requests until it is settled. */
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

  /** Sends a request. A failed request or an error response settles the query as failed. */
  ask(encode: (idText: string) => Buffer, answered: (message: RpcMessage) => void): void {
    this.#number = this.#call.sendToTarget(this.target, encode, {
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
    const limit = `within ${timeout} ms (config.mcp.listTimeout)`
    this.fail(`target '${this.target.name}' did not answer ${limit}`)
  }
}

export interface GatherOptions<T> {
  readonly call: ClientCall
  readonly targets: readonly SessionTarget[]
  /** Milliseconds until targets without an answer are counted as failed. */
  readonly timeout: number
  ask(query: TargetQuery<T>): void
}

/** Queries all targets at once; `done` is called once, unless the call ends before. */
export function gatherFromTargets<T>(
  options: GatherOptions<T>,
  done: (all: GatheredResults<T>) => void,
): void {
  const { call, targets, timeout } = options
  let state: 'open' | 'done' = 'open'
  const settled = (): void => {
    if (state === 'done' || queries.some(({ outcome }) => outcome === null)) return
    state = 'done'
    clearTimeout(timer)
    if (!call.isOver) done(combineResults(queries))
  }
  const queries = targets.map((target) => new TargetQuery<T>(call, target, settled))
  const timer = setTimeout(() => {
    for (const query of queries) query.expire(timeout)
  }, timeout)
  call.whenOver(() => clearTimeout(timer))
  for (const query of queries) options.ask(query)
  settled()
}

function combineResults<T>(queries: readonly TargetQuery<T>[]): GatheredResults<T> {
  const found: T[] = []
  const failures: TargetFailure[] = []
  for (const { target, outcome } of queries)
    if (outcome !== null && 'value' in outcome) found.push(outcome.value)
    else failures.push({ target: target.name, reason: outcome?.reason ?? '' })
  return { found, failures }
}

/** Names only the code: the target's error text may be long and must not be logged. */
function describeRpcError(target: string, message: RpcMessage): string {
  const error: unknown = JSON.parse(message.text(message.error!))
  const code: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  return `target '${target}' answered error ${typeof code === 'number' ? code : 'without a code'}`
}

/** The `_meta` key that names the targets missing from a result. */
export const FAILED_TARGETS = 'gateway/failedTargets'

/** Formats the `_meta` object of a result that lacks some targets. */
export function formatTargetFailures(failures: readonly TargetFailure[]): string {
  return JSON.stringify({ [FAILED_TARGETS]: failures })
}
