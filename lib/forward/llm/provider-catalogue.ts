// Which providers may answer for a model: those of an `ai` backend for every one, those of `llm` by its name.

import { LRUMapWithDelete } from 'mnemonist'
import type { AiEntry } from '../../config/backend-types.ts'
import type { AuthorizationConfig } from '../../config/policy-types.ts'
import { MAX_PROVIDER_ATTEMPTS } from '../../core/bounds.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Backend } from '../../core/types.ts'
import type { Expression } from '../../expressions/compile.ts'
import { ExpressionView } from '../../expressions/exchange-view.ts'
import { findRuleViolation } from '../../expressions/rules.ts'

/** One to ask, and for which model; null leaves it as the client wrote it. */
export interface ProviderChoice {
  readonly candidate: ProviderCandidate
  readonly model: string | null
}

export interface ProviderCatalogue {
  /** Whether a choice needs the request's model. */
  readonly needs: 'model' | 'nothing'
  /** Whether a provider may be asked for another model than the client wrote. */
  readonly edits: 'model' | 'nothing'
  /** A path that every provider is asked at, whatever the client's; null where that differs. */
  readonly pathOverride: string | null
  /** Ids to tell clients of; null when only the provider knows. */
  readonly models: readonly string[] | null
  /** In the order in which they are asked. Throws what the client is to hear. */
  choose(model: string | null, exchange: Exchange): readonly ProviderChoice[]
}

/** Of an `ai` backend. */
export class AnyModelCatalogue implements ProviderCatalogue {
  readonly needs: 'model' | 'nothing'
  readonly edits: 'model' | 'nothing'
  readonly models = null
  readonly pathOverride: string | null
  readonly #levels: readonly CandidateLevel[]
  readonly #aliases: ReadonlyMap<string, string>

  constructor(levels: readonly CandidateLevel[], aliases: Readonly<Record<string, string>>) {
    this.#levels = levels
    this.#aliases = new Map(Object.entries(aliases))
    const [path = null, ...others] = new Set(
      levels.flat().map(({ candidate }) => candidate.entry.pathOverride),
    )
    this.pathOverride = others.length > 0 ? null : path
    const hasOwn = levels.flat().some(({ candidate }) => candidate.entry.provider.model !== null)
    this.edits = this.#aliases.size > 0 || hasOwn ? 'model' : 'nothing'
    this.needs = this.#aliases.size > 0 || levels.some(needsModelInPath) ? 'model' : 'nothing'
  }

  choose(model: string | null): ProviderChoice[] {
    const real = model === null ? null : this.#resolveAlias(model)
    return orderCandidates(this.#levels).map((candidate) => createChoice(candidate, real))
  }

  #resolveAlias(model: string): string | null {
    const same = this.#aliases.get(model)
    if (same !== undefined) return same
    const alias = findBestModelName(this.#aliases.keys(), model)
    return alias === undefined ? null : this.#aliases.get(alias)!
  }
}

/** A provider with a model of its own is asked for that, whatever the client wants. */
function createChoice(candidate: ProviderCandidate, model: string | null): ProviderChoice {
  return { candidate, model: candidate.entry.provider.model ?? model }
}

/** Some have the model in their path. */
function needsModelInPath(level: CandidateLevel): boolean {
  return level.some(({ candidate }) => candidate.entry.provider.kind === 'azure')
}

/** One of `llm.models`. */
export interface ListedModelEntry {
  readonly name: string
  readonly visibility: 'public' | 'internal'
  readonly candidate: ProviderCandidate
  readonly authorization: AuthorizationConfig | null
}

/** One of `llm.virtualModels`; exactly one way to choose among the models it names. */
export interface VirtualModelEntry {
  readonly name: string
  readonly levels: readonly (readonly {
    readonly model: ListedModelEntry
    readonly weight: number
  }[])[]
  readonly conditions: readonly {
    readonly model: ListedModelEntry
    readonly when: Expression | null
  }[]
}

/** Of the `llm` section. */
export class ListedModelCatalogue implements ProviderCatalogue {
  readonly needs = 'model'
  readonly edits = 'model'
  readonly pathOverride = null
  readonly models: readonly string[]
  readonly #listed: ReadonlyMap<string, ListedModelEntry>
  readonly #virtual: ReadonlyMap<string, VirtualModelEntry>

  constructor(listed: readonly ListedModelEntry[], mixed: readonly VirtualModelEntry[]) {
    this.#listed = new Map(listed.map((model) => [model.name, model]))
    this.#virtual = new Map(mixed.map((model) => [model.name, model]))
    const open = listed.filter(({ visibility }) => visibility === 'public')
    this.models = [...open, ...mixed].map(({ name }) => name).filter((name) => !name.includes('*'))
  }

  choose(model: string | null, exchange: Exchange): ProviderChoice[] {
    if (model === null)
      throw new GatewayError('MODEL_MISSING', 'failed to process LLM request: the model is missing')
    const mixed = this.#virtual.get(model)
    if (mixed !== undefined) return this.#chooseAmong(mixed, exchange)
    const name = findBestModelName(this.#publicNames(), model)
    const listed = name === undefined ? undefined : this.#listed.get(name)
    if (listed === undefined)
      throw new GatewayError(
        'MODEL_NOT_FOUND',
        `the model '${clipShownName(model)}' does not exist`,
      )
    requireModelPermission(listed, exchange)
    return [createChoice(listed.candidate, null)]
  }

  /** Targets a client may not use are as if they were not there. */
  #chooseAmong(
    { name, levels, conditions }: VirtualModelEntry,
    exchange: Exchange,
  ): ProviderChoice[] {
    const isOpen = (model: ListedModelEntry): boolean => isModelPermitted(model, exchange)
    const met = conditions.find(
      ({ when, model }) =>
        isOpen(model) &&
        (when === null || when.holds(new ExpressionView(exchange, exchange.facts ?? {}))),
    )
    const open =
      met === undefined
        ? levels.map((level) => level.filter(({ model }) => isOpen(model)))
        : [[{ model: met.model, weight: 1 }]]
    const names = new Map(open.flat().map(({ model }) => [model.candidate, model.name]))
    const order = orderCandidates(
      open.map((level) =>
        level.map(({ model, weight }) => ({ candidate: model.candidate, weight })),
      ),
    )
    if (order.length === 0)
      throw new GatewayError(
        'MODEL_DENIED',
        `the model '${clipShownName(name)}' is not for you to use`,
      )
    return order.map((candidate) => createChoice(candidate, exactModelName(names.get(candidate))))
  }

  *#publicNames(): Generator<string> {
    for (const { name, visibility } of this.#listed.values())
      if (visibility === 'public') yield name
  }
}

/** A pattern is no name a provider knows. */
function exactModelName(name: string | undefined): string | null {
  return name === undefined || name.includes('*') ? null : name
}

function isModelPermitted({ authorization }: ListedModelEntry, exchange: Exchange): boolean {
  if (authorization === null) return true
  return (
    findRuleViolation(authorization.rules, new ExpressionView(exchange, exchange.facts ?? {})) ===
    null
  )
}

function requireModelPermission(model: ListedModelEntry, exchange: Exchange): void {
  if (!isModelPermitted(model, exchange))
    throw new GatewayError(
      'MODEL_DENIED',
      `the model '${clipShownName(model.name)}' is not for you to use`,
    )
}

/** Letters of a client's own words in an answer. */
const MAX_SHOWN_NAME_LENGTH = 128

function clipShownName(text: string): string {
  return text.length <= MAX_SHOWN_NAME_LENGTH ? text : `${text.slice(0, MAX_SHOWN_NAME_LENGTH)}…`
}

// A provider that may answer a request, and what a request to it must look like.

export interface ProviderCandidate {
  readonly entry: AiEntry
  /** The way there; its own policies included. */
  readonly backend: Backend
  /** Members of the body, as JSON text: to be set always, and where they are missing. */
  readonly overrides: ReadonlyMap<string, string>
  readonly defaults: ReadonlyMap<string, string>
  readonly health: ProviderHealth
  /** Models that are not asked to count. */
  readonly usageRefusals: UsageOptionRefusals
}

/** One level of preference; within it the weights decide. */
export type CandidateLevel = readonly {
  readonly candidate: ProviderCandidate
  readonly weight: number
}[]

/**
 * Whom to ask, in turn: the levels in their order, in each a random order by weight; those that rest come last, the one
 * that rests shortest first, for nobody else may be left.
 */
export function orderCandidates(
  levels: readonly CandidateLevel[],
  random: () => number = Math.random,
): ProviderCandidate[] {
  // Most have one provider.
  if (levels.length === 1 && levels[0]!.length === 1) return [levels[0]![0]!.candidate]
  const shuffled = levels.flatMap((level) =>
    level.length === 1 ? [level[0]!.candidate] : shuffleByWeight(level, random),
  )
  if (shuffled.length < 2) return shuffled
  const ready = shuffled.filter(({ health }) => health.cooldownLeft === 0)
  const resting = shuffled
    .filter((candidate) => !ready.includes(candidate))
    .toSorted((a, b) => a.health.cooldownLeft - b.health.cooldownLeft)
  return [...ready, ...resting].slice(0, MAX_PROVIDER_ATTEMPTS)
}

/** Without weight it is never asked. */
function shuffleByWeight(level: CandidateLevel, random: () => number): ProviderCandidate[] {
  const left = level.filter(({ weight }) => weight > 0)
  const order: ProviderCandidate[] = []
  while (left.length > 0) {
    let at = random() * left.reduce((sum, { weight }) => sum + weight, 0)
    const found = left.findIndex(({ weight }) => (at -= weight) < 0)
    order.push(left.splice(Math.max(0, found), 1)[0]!.candidate)
  }
  return order
}

// Whether a provider is worth asking: one that failed is left alone for a while.

/** After one failure; doubled with every further one. */
const FIRST_COOLDOWN_MS = 1_000
/** The longest, whatever `retry-after` says. */
const MAX_PROVIDER_COOLDOWN_MS = 60_000

/** Milliseconds on any clock that does not go back. */
type HealthClock = () => number

export class ProviderHealth {
  readonly #now: HealthClock
  #failures = 0
  #cooldownUntil = 0

  constructor(now: HealthClock = () => performance.now()) {
    this.#now = now
  }

  /** When it may be asked again; 0 for now. */
  get cooldownLeft(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#cooldownUntil - this.#now())
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** `retryAfter` is the provider's own word, in milliseconds, or 0. */
  failed(retryAfter: number): void {
    const rest = Math.max(retryAfter, FIRST_COOLDOWN_MS * 2 ** Math.min(this.#failures, 6))
    this.#failures++
    this.#cooldownUntil = this.#now() + Math.min(rest, MAX_PROVIDER_COOLDOWN_MS)
  }
}

// Which models of a provider do not know `stream_options.include_usage`, as far as its answers have told.

/** Above this the model learnt first is forgotten, and asked again. */
export const MAX_USAGE_REFUSALS = 256

export class UsageOptionRefusals {
  readonly #models = new LRUMapWithDelete<string, true>(MAX_USAGE_REFUSALS)
  readonly #onNewModel: (model: string) => void

  /** `tell` hears of each that is new. */
  constructor(tell: (model: string) => void) {
    this.#onNewModel = tell
  }

  has(model: string | null): boolean {
    return this.#models.has(model ?? '')
  }

  add(model: string | null): void {
    if (this.has(model)) return
    this.#models.set(model ?? '', true)
    this.#onNewModel(model ?? '')
  }
}

// Names of models with one star in them, at either end, that stands for anything.

/** The name that fits best: the very same, or else the one with most letters. */
export function findBestModelName(names: Iterable<string>, model: string): string | undefined {
  let best: string | undefined
  for (const name of names) {
    if (name === model) return name
    if (matchesModelPattern(name, model) && (best === undefined || name.length > best.length))
      best = name
  }
  return best
}

function matchesModelPattern(name: string, model: string): boolean {
  if (name.startsWith('*')) return model.endsWith(name.slice(1))
  return name.endsWith('*') && model.startsWith(name.slice(0, -1))
}
