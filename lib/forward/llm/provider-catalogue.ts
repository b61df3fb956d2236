// Chooses the providers for a model, in the order in which they are called, and keeps their health. An `ai` backend serves
// every model; the `llm` section serves models by name.

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

/** A provider and the model to request there; null keeps the model of the client. */
export interface ProviderChoice {
  readonly candidate: ProviderCandidate
  readonly model: string | null
}

export interface ProviderCatalogue {
  /** Whether a choice needs the request's model. */
  readonly needs: 'model' | 'nothing'
  /** Whether a provider may get another model than the client's. */
  readonly edits: 'model' | 'nothing'
  /** Whether a request may have more than one provider, so that its body must be kept. */
  readonly hasAlternatives: boolean
  /** The configured path that all providers share; null if there is none or they differ. */
  readonly pathOverride: string | null
  /** The ids for `GET /models`; null if the provider answers that. With an API key, only models that the key may use. */
  listModels(exchange: Exchange): readonly string[] | null
  /** Providers in the order of their calls. Throws the error for the client if there is none. */
  choose(model: string | null, exchange: Exchange): readonly ProviderChoice[]
}

/** The providers of an `ai` backend. */
export class AnyModelCatalogue implements ProviderCatalogue {
  readonly needs: 'model' | 'nothing'
  readonly edits: 'model' | 'nothing'
  readonly hasAlternatives: boolean
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
    this.hasAlternatives = levels.flat().length > 1
    const setsModel = levels.flat().some(({ candidate }) => candidate.entry.provider.model !== null)
    this.edits = this.#aliases.size > 0 || setsModel ? 'model' : 'nothing'
    this.needs = this.#aliases.size > 0 || levels.some(needsModelInPath) ? 'model' : 'nothing'
  }

  listModels(): null {
    return null
  }

  choose(model: string | null): ProviderChoice[] {
    const resolved = model === null ? null : this.#resolveAlias(model)
    return orderCandidates(this.#levels).map((candidate) => createChoice(candidate, resolved))
  }

  #resolveAlias(model: string): string | null {
    const exact = this.#aliases.get(model)
    if (exact !== undefined) return exact
    const alias = findBestModelName(this.#aliases.keys(), model)
    return alias === undefined ? null : this.#aliases.get(alias)!
  }
}

/** A model in the provider's configuration replaces every other. */
function createChoice(candidate: ProviderCandidate, model: string | null): ProviderChoice {
  return { candidate, model: candidate.entry.provider.model ?? model }
}

/** Azure may have the model in its path. */
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

/** One of `llm.virtualModels`: it has either levels or conditions. */
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

/** The models of the `llm` section. */
export class ListedModelCatalogue implements ProviderCatalogue {
  readonly needs = 'model'
  readonly edits = 'model'
  readonly hasAlternatives: boolean
  readonly pathOverride = null
  readonly #names: readonly string[]
  readonly #listed: ReadonlyMap<string, ListedModelEntry>
  readonly #virtual: ReadonlyMap<string, VirtualModelEntry>

  constructor(listed: readonly ListedModelEntry[], virtual: readonly VirtualModelEntry[]) {
    this.#listed = new Map(listed.map((model) => [model.name, model]))
    this.#virtual = new Map(virtual.map((model) => [model.name, model]))
    this.hasAlternatives = virtual.some(({ levels }) => levels.flat().length > 1)
    const visible = listed.filter(({ visibility }) => visibility === 'public')
    const names = [...visible, ...virtual].map(({ name }) => name)
    this.#names = names.filter((name) => !name.includes('*'))
  }

  listModels(exchange: Exchange): readonly string[] {
    const { apiKey, allowedModels } = exchange.facts ?? {}
    if (apiKey === undefined) return this.#names
    return this.#names.filter(
      (name) =>
        (allowedModels === undefined || findBestModelName(allowedModels, name) !== undefined) &&
        this.#isPermitted(name, exchange),
    )
  }

  /** A virtual model can be used if one of its targets can. */
  #isPermitted(name: string, exchange: Exchange): boolean {
    const virtual = this.#virtual.get(name)
    const listed = this.#listed.get(name)
    if (virtual === undefined) return listed !== undefined && isModelPermitted(listed, exchange)
    const { levels, conditions } = virtual
    return [...levels.flat(), ...conditions].some(({ model }) => isModelPermitted(model, exchange))
  }

  choose(model: string | null, exchange: Exchange): ProviderChoice[] {
    if (model === null)
      throw new GatewayError('MODEL_MISSING', 'failed to process LLM request: the model is missing')
    const virtual = this.#virtual.get(model)
    if (virtual !== undefined) return this.#chooseTargets(virtual, exchange)
    const name = findBestModelName(this.#publicNames(), model)
    const listed = name === undefined ? undefined : this.#listed.get(name)
    if (listed === undefined)
      throw new GatewayError(
        'MODEL_NOT_FOUND',
        `the model '${clipShownName(model)}' does not exist`,
      )
    if (!isModelPermitted(listed, exchange)) throw createModelDeniedError(listed.name)
    return [createChoice(listed.candidate, null)]
  }

  /** Skips the targets that the client may not use. */
  #chooseTargets(
    { name, levels, conditions }: VirtualModelEntry,
    exchange: Exchange,
  ): ProviderChoice[] {
    const isPermitted = (model: ListedModelEntry): boolean => isModelPermitted(model, exchange)
    const match = conditions.find(
      ({ when, model }) =>
        isPermitted(model) &&
        (when === null || when.holds(new ExpressionView(exchange, exchange.facts ?? {}))),
    )
    const permitted =
      match === undefined
        ? levels.map((level) => level.filter(({ model }) => isPermitted(model)))
        : [[{ model: match.model, weight: 1 }]]
    const names = new Map(permitted.flat().map(({ model }) => [model.candidate, model.name]))
    const order = orderCandidates(
      permitted.map((level) =>
        level.map(({ model, weight }) => ({ candidate: model.candidate, weight })),
      ),
    )
    if (order.length === 0) throw createModelDeniedError(name)
    return order.map((candidate) => createChoice(candidate, exactModelName(names.get(candidate))))
  }

  *#publicNames(): Generator<string> {
    for (const { name, visibility } of this.#listed.values())
      if (visibility === 'public') yield name
  }
}

/** null for a pattern, which is not the name of a model. */
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

function createModelDeniedError(name: string): GatewayError {
  return new GatewayError('MODEL_DENIED', `access to model '${clipShownName(name)}' is denied`)
}

/** Of a name in an error message. */
const MAX_SHOWN_NAME_LENGTH = 128

function clipShownName(text: string): string {
  return text.length <= MAX_SHOWN_NAME_LENGTH ? text : `${text.slice(0, MAX_SHOWN_NAME_LENGTH)}…`
}

/** A provider that may serve a request, and the changes that a request to it needs. */
export interface ProviderCandidate {
  readonly entry: AiEntry
  /** The backend with the provider's own policies. */
  readonly backend: Backend
  /** The gateway sends its own key, and not that of the client. */
  readonly hasOwnKey: boolean
  /** Body members as JSON text: `overrides` always, `defaults` where the member is missing. */
  readonly overrides: ReadonlyMap<string, string>
  readonly defaults: ReadonlyMap<string, string>
  readonly health: ProviderHealth
  readonly usageRefusals: UsageOptionRefusals
}

/** Candidates of the same priority; their weights decide the order. */
export type CandidateLevel = readonly {
  readonly candidate: ProviderCandidate
  readonly weight: number
}[]

/**
 * The order of calls: level by level, and random by weight in each level. Candidates in cooldown come last, the one with the
 * shortest cooldown first: they are called if all others fail.
 */
export function orderCandidates(
  levels: readonly CandidateLevel[],
  random: () => number = Math.random,
): ProviderCandidate[] {
  // Most backends have one provider.
  if (levels.length === 1 && levels[0]!.length === 1) return [levels[0]![0]!.candidate]
  const shuffled = levels.flatMap((level) =>
    level.length === 1 ? [level[0]!.candidate] : shuffleByWeight(level, random),
  )
  if (shuffled.length < 2) return shuffled
  const ready = shuffled.filter(({ health }) => health.cooldownLeft === 0)
  const inCooldown = shuffled
    .filter((candidate) => !ready.includes(candidate))
    .toSorted((a, b) => a.health.cooldownLeft - b.health.cooldownLeft)
  return [...ready, ...inCooldown].slice(0, MAX_PROVIDER_ATTEMPTS)
}

/** Candidates with weight 0 are left out. */
function shuffleByWeight(level: CandidateLevel, random: () => number): ProviderCandidate[] {
  const remaining = level.filter(({ weight }) => weight > 0)
  const order: ProviderCandidate[] = []
  while (remaining.length > 0) {
    let position = random() * remaining.reduce((sum, { weight }) => sum + weight, 0)
    const found = remaining.findIndex(({ weight }) => (position -= weight) < 0)
    order.push(remaining.splice(Math.max(0, found), 1)[0]!.candidate)
  }
  return order
}

/** After one failure; each further failure doubles it. */
const FIRST_COOLDOWN_MS = 1_000
/** Also bounds the `retry-after` of a provider. */
const MAX_PROVIDER_COOLDOWN_MS = 60_000

/** Milliseconds on a monotonic clock. */
type HealthClock = () => number

/** The cooldown of a provider after failures. */
export class ProviderHealth {
  readonly #now: HealthClock
  #failures = 0
  #cooldownUntil = 0

  constructor(now: HealthClock = () => performance.now()) {
    this.#now = now
  }

  /** Milliseconds until the provider is called again; 0 outside a cooldown. */
  get cooldownLeft(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#cooldownUntil - this.#now())
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** `retryAfter`: milliseconds that the provider asked for, or 0. */
  failed(retryAfter: number): void {
    const cooldown = Math.max(retryAfter, FIRST_COOLDOWN_MS * 2 ** Math.min(this.#failures, 6))
    this.#failures++
    this.#cooldownUntil = this.#now() + Math.min(cooldown, MAX_PROVIDER_COOLDOWN_MS)
  }
}

/** Above this the model added first is removed, and gets the option again. */
export const MAX_USAGE_REFUSALS = 256

/** The models of a provider that refused `stream_options.include_usage`. */
export class UsageOptionRefusals {
  readonly #models = new LRUMapWithDelete<string, true>(MAX_USAGE_REFUSALS)
  readonly #onNewModel: (model: string) => void

  constructor(onNewModel: (model: string) => void) {
    this.#onNewModel = onNewModel
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

/** The same name, or else the longest matching pattern; a pattern has a `*` as its first or last character. */
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
