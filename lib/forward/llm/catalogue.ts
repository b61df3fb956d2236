// Which providers may answer for a model: those of an `ai` backend for every one, those of `llm` by its name.

import type { AuthorizationConfig } from '../../base/config/auth-types.ts'
import { objectionOf } from '../../base/cel/rules.ts'
import type { Expression } from '../../base/cel/compile.ts'
import { View } from '../../base/cel/view.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Exchange } from '../../base/exchange.ts'
import { inOrder } from './candidate.ts'
import type { Candidate, Level } from './candidate.ts'
import { bestMatch } from './model-names.ts'

/** One to ask, and for which model; null leaves it as the client wrote it. */
export interface Choice {
  readonly candidate: Candidate
  readonly model: string | null
}

export interface Catalogue {
  /** Whether a choice needs the request's model. */
  readonly needs: 'model' | 'nothing'
  /** Whether a provider may be asked for another model than the client wrote. */
  readonly edits: 'model' | 'nothing'
  /** A path that every provider is asked at, whatever the client's; null where that differs. */
  readonly pathOverride: string | null
  /** Ids to tell clients of; null when only the provider knows. */
  readonly models: readonly string[] | null
  /** In the order in which they are asked. Throws what the client is to hear. */
  choose(model: string | null, exchange: Exchange): readonly Choice[]
}

/** Of an `ai` backend. */
export class OpenCatalogue implements Catalogue {
  readonly needs: 'model' | 'nothing'
  readonly edits: 'model' | 'nothing'
  readonly models = null
  readonly pathOverride: string | null
  readonly #levels: readonly Level[]
  readonly #aliases: ReadonlyMap<string, string>

  constructor(levels: readonly Level[], aliases: Readonly<Record<string, string>>) {
    this.#levels = levels
    this.#aliases = new Map(Object.entries(aliases))
    const [path = null, ...others] = new Set(
      levels.flat().map(({ candidate }) => candidate.entry.pathOverride),
    )
    this.pathOverride = others.length > 0 ? null : path
    const hasOwn = levels.flat().some(({ candidate }) => candidate.entry.provider.model !== null)
    this.edits = this.#aliases.size > 0 || hasOwn ? 'model' : 'nothing'
    this.needs = this.#aliases.size > 0 || levels.some(isByModel) ? 'model' : 'nothing'
  }

  choose(model: string | null): Choice[] {
    const real = model === null ? null : this.#realOf(model)
    return inOrder(this.#levels).map((candidate) => chosen(candidate, real))
  }

  #realOf(model: string): string | null {
    const same = this.#aliases.get(model)
    if (same !== undefined) return same
    const alias = bestMatch(this.#aliases.keys(), model)
    return alias === undefined ? null : this.#aliases.get(alias)!
  }
}

/** A provider with a model of its own is asked for that, whatever the client wants. */
function chosen(candidate: Candidate, model: string | null): Choice {
  return { candidate, model: candidate.entry.provider.model ?? model }
}

/** Some have the model in their path. */
function isByModel(level: Level): boolean {
  return level.some(({ candidate }) => candidate.entry.provider.kind === 'azure')
}

/** One of `llm.models`. */
export interface ListedModel {
  readonly name: string
  readonly visibility: 'public' | 'internal'
  readonly candidate: Candidate
  readonly authorization: AuthorizationConfig | null
}

/** One of `llm.virtualModels`; exactly one way to choose among the models it names. */
export interface MixedModel {
  readonly name: string
  readonly levels: readonly (readonly { readonly model: ListedModel; readonly weight: number }[])[]
  readonly conditions: readonly { readonly model: ListedModel; readonly when: Expression | null }[]
}

/** Of the `llm` section. */
export class ModelCatalogue implements Catalogue {
  readonly needs = 'model'
  readonly edits = 'model'
  readonly pathOverride = null
  readonly models: readonly string[]
  readonly #listed: ReadonlyMap<string, ListedModel>
  readonly #mixed: ReadonlyMap<string, MixedModel>

  constructor(listed: readonly ListedModel[], mixed: readonly MixedModel[]) {
    this.#listed = new Map(listed.map((model) => [model.name, model]))
    this.#mixed = new Map(mixed.map((model) => [model.name, model]))
    const open = listed.filter(({ visibility }) => visibility === 'public')
    this.models = [...open, ...mixed].map(({ name }) => name).filter((name) => !name.includes('*'))
  }

  choose(model: string | null, exchange: Exchange): Choice[] {
    if (model === null)
      throw new GatewayError('MODEL_MISSING', 'failed to process LLM request: the model is missing')
    const mixed = this.#mixed.get(model)
    if (mixed !== undefined) return this.#among(mixed, exchange)
    const name = bestMatch(this.#openNames(), model)
    const listed = name === undefined ? undefined : this.#listed.get(name)
    if (listed === undefined)
      throw new GatewayError('MODEL_NOT_FOUND', `the model '${shown(model)}' does not exist`)
    permit(listed, exchange)
    return [chosen(listed.candidate, null)]
  }

  /** Targets a client may not use are as if they were not there. */
  #among({ name, levels, conditions }: MixedModel, exchange: Exchange): Choice[] {
    const isOpen = (model: ListedModel): boolean => isPermitted(model, exchange)
    const met = conditions.find(
      ({ when, model }) =>
        isOpen(model) && (when === null || when.holds(new View(exchange, exchange.facts ?? {}))),
    )
    const open =
      met === undefined
        ? levels.map((level) => level.filter(({ model }) => isOpen(model)))
        : [[{ model: met.model, weight: 1 }]]
    const names = new Map(open.flat().map(({ model }) => [model.candidate, model.name]))
    const order = inOrder(
      open.map((level) =>
        level.map(({ model, weight }) => ({ candidate: model.candidate, weight })),
      ),
    )
    if (order.length === 0)
      throw new GatewayError('MODEL_DENIED', `the model '${shown(name)}' is not for you to use`)
    return order.map((candidate) => chosen(candidate, realName(names.get(candidate))))
  }

  *#openNames(): Generator<string> {
    for (const { name, visibility } of this.#listed.values())
      if (visibility === 'public') yield name
  }
}

/** A pattern is no name a provider knows. */
function realName(name: string | undefined): string | null {
  return name === undefined || name.includes('*') ? null : name
}

function isPermitted({ authorization }: ListedModel, exchange: Exchange): boolean {
  if (authorization === null) return true
  return objectionOf(authorization.rules, new View(exchange, exchange.facts ?? {})) === null
}

function permit(model: ListedModel, exchange: Exchange): void {
  if (!isPermitted(model, exchange))
    throw new GatewayError('MODEL_DENIED', `the model '${shown(model.name)}' is not for you to use`)
}

/** Letters of a client's own words in an answer. */
const MAX_SHOWN = 128

function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}
