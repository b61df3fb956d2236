// One question to several targets: what each of them had to say, as far as it came in time.

import type { Message } from '../message.ts'
import type { Call } from '../session/call.ts'
import type { Target } from '../session/target.ts'

export interface Failure {
  readonly target: string
  readonly reason: string
}

export interface Gathered<T> {
  /** In the order of the targets. */
  readonly found: readonly T[]
  readonly failures: readonly Failure[]
}

/** The question as it stands with one target: more can be asked until it is settled. */
export class Inquiry<T> {
  readonly target: Target
  readonly #call: Call
  readonly #settled: () => void
  #number = 0
  outcome: { readonly value: T } | { readonly reason: string } | null = null

  constructor(call: Call, target: Target, settled: () => void) {
    this.#call = call
    this.target = target
    this.#settled = settled
  }

  /** A failure of the target, or an error of its own, settles the inquiry. */
  ask(make: (idText: string) => Buffer, answered: (message: Message) => void): void {
    this.#number = this.#call.ask(this.target, make, {
      answered: (message) => {
        if (message.error !== null) this.fail(errorOf(this.target.name, message))
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
    this.#call.giveUp(this.#number, 'timed out')
    const within = `within ${timeout} ms (config.mcp.listTimeout)`
    this.fail(`target '${this.target.name}' did not answer ${within}`)
  }
}

export interface Question<T> {
  readonly call: Call
  readonly targets: readonly Target[]
  /** How long one target may hold up the others. */
  readonly timeout: number
  ask(inquiry: Inquiry<T>): void
}

export function gather<T>(question: Question<T>, done: (all: Gathered<T>) => void): void {
  const { call, targets, timeout } = question
  let state: 'open' | 'told' = 'open'
  const settled = (): void => {
    if (state === 'told' || inquiries.some(({ outcome }) => outcome === null)) return
    state = 'told'
    clearTimeout(timer)
    if (!call.isOver) done(togetherOf(inquiries))
  }
  const inquiries = targets.map((target) => new Inquiry<T>(call, target, settled))
  const timer = setTimeout(() => {
    for (const inquiry of inquiries) inquiry.expire(timeout)
  }, timeout)
  call.whenOver(() => clearTimeout(timer))
  for (const inquiry of inquiries) question.ask(inquiry)
  settled()
}

function togetherOf<T>(inquiries: readonly Inquiry<T>[]): Gathered<T> {
  const found: T[] = []
  const failures: Failure[] = []
  for (const { target, outcome } of inquiries)
    if (outcome !== null && 'value' in outcome) found.push(outcome.value)
    else failures.push({ target: target.name, reason: outcome?.reason ?? '' })
  return { found, failures }
}

/** By code: the target's own words may be long, and are not for the log. */
function errorOf(target: string, message: Message): string {
  const error: unknown = JSON.parse(message.text(message.error!))
  const code: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  return `target '${target}' answered error ${typeof code === 'number' ? code : 'without a code'}`
}
