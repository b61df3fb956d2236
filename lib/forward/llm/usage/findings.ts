// What an answer has told so far, put together from the objects in it: the events of a stream, or all of an answer in one
// piece. A count told again replaces the one before; the first model and tier stay.

import type { Outcome } from '../../../base/types.ts'
import type { InputCount, RawUsage, Seen } from '../types.ts'
import type { AnswerDialect, Places } from './dialects.ts'
import { countAt, merge, reportOf, textAt, valueAt } from './raw-usage.ts'

/** What only those know who read the bytes. */
export type Measured = Pick<Seen, 'outputGuess' | 'firstAt' | 'lastAt'>

export class Findings {
  readonly #dialect: AnswerDialect
  #usage: RawUsage | null = null
  #counts: InputCount
  #outputCount: Seen['outputCount'] = 'whole'
  #model: string | null = null
  #tier: string | null = null
  #count: number | null = null
  #ending: Seen['ending'] = 'missing'

  constructor(dialect: AnswerDialect) {
    this.#dialect = dialect
    this.#counts = dialect.counts
  }

  /** An object that tells something new has one of these in it. */
  get words(): readonly string[] {
    return this.#model === null ? this.#dialect.firstWords : this.#dialect.words
  }

  get places(): Places {
    return this.#dialect.places
  }

  /** Looks at nothing but the places the dialect has for it, whatever else the object says. */
  note(object: unknown): void {
    const { usage, model, tier, count } = this.#dialect
    for (const path of usage) this.#report(object, path)
    this.#model ??= firstText(object, model)
    this.#tier ??= firstText(object, tier)
    if (count !== null) this.#count = countAt(object, count) ?? this.#count
  }

  /** The name of an event, or all of its data. */
  noteEnding(text: string): void {
    if (this.#dialect.endings.has(text)) this.#ending = 'seen'
  }

  /** Nothing more comes; `whole`: what came is complete by its own form. */
  finish(outcome: Outcome, form: 'whole' | 'open'): void {
    const isPlainEnd = outcome === 'complete' && this.#dialect.plainEnd === 'whole'
    if (form === 'whole' || isPlainEnd) this.#ending = 'seen'
  }

  seen(measured: Measured): Seen {
    return {
      usage: this.#usage,
      counts: this.#counts,
      model: this.#model,
      serviceTier: this.#tier,
      outputCount: this.#outputCount,
      countTokens: this.#count,
      isFree: this.#dialect.isFree,
      ending: this.#ending,
      ...measured,
    }
  }

  #report(object: unknown, path: readonly string[]): void {
    const report = reportOf(valueAt(object, path))
    if (report === null) return
    this.#usage = merge(this.#usage, report.usage)
    this.#counts = report.counts ?? this.#counts
    if (report.usage.output === undefined) return
    this.#outputCount = path === this.#dialect.begun ? 'begun' : 'whole'
  }
}

function firstText(object: unknown, paths: readonly (readonly string[])[]): string | null {
  for (const path of paths) {
    const text = textAt(object, path)
    if (text !== undefined) return text
  }
  return null
}
