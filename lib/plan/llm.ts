// LLM backends made live: for each provider a way through the pools, for each model the providers that have it.

import type { Budget } from '../base/bounds/budget.ts'
import { LLM_REPLAY_BYTES } from '../base/bounds/limits.ts'
import type { LlmLimits } from '../base/bounds/limits.ts'
import { SYSTEM_TLS } from '../base/config/check/backend-policies.ts'
import type { AiEntry, AiPolicyConfig, LlmModel, VirtualModel } from '../base/config/llm-types.ts'
import type {
  BackendConfig,
  BackendTlsConfig,
  Endpoint,
  RouteConfig,
} from '../base/config/types.ts'
import type { Log } from '../base/log/log.ts'
import type { Backend, Meter } from '../base/types.ts'
import { enforce } from '../enforce/enforce.ts'
import type { PolicyMaker } from '../enforce/policy-maker.ts'
import { HttpBackend } from '../forward/http/backend.ts'
import type { Pool } from '../forward/http/pool.ts'
import { LlmBackend } from '../forward/llm/backend.ts'
import type { LlmSettings } from '../forward/llm/backend.ts'
import type { Candidate } from '../forward/llm/candidate.ts'
import { ModelCatalogue, OpenCatalogue } from '../forward/llm/catalogue.ts'
import type { Catalogue, ListedModel, MixedModel } from '../forward/llm/catalogue.ts'
import { FormatTable } from '../forward/llm/formats.ts'
import { Health } from '../forward/llm/health.ts'
import { looksLikeLlm, MeteredBackend } from '../forward/llm/metered.ts'
import { MockProvider } from '../forward/llm/mock/mock-provider.ts'
import { watchedWith } from '../forward/llm/prompt/watched.ts'
import { ProviderBackend } from '../forward/llm/provider-backend.ts'
import { ownHost } from '../forward/llm/provider.ts'
import { Refusals } from '../forward/llm/refusals.ts'
import { PolicedBackend } from '../forward/policed.ts'
import type { BackendHealth } from './backend-health.ts'
import type { HeaderModifierConfig } from '../base/cel/computed-headers.ts'

/** Token limits of a route, and what they ask of a request. */
export interface Metering {
  /** null: the route has none. */
  readonly meter: Meter | null
  /** Whether a limit may go by the model. */
  readonly needs: 'model' | 'nothing'
  /** `route`: a limit is the route's own. */
  readonly scope: 'route' | 'gateway'
}

/** What LLM backends share with all others. */
export interface Ways {
  readonly policies: PolicyMaker
  readonly held: Budget
  readonly limits: LlmLimits
  readonly log: Log
  readonly health: BackendHealth
  /** For a backend, by its key. */
  pool(backend: string, endpoint: Endpoint, tls: BackendTlsConfig | null): Pool
}

type Ai = Extract<BackendConfig, { kind: 'ai' }>
type Llm = Extract<BackendConfig, { kind: 'llm' }>
type Host = Extract<BackendConfig, { kind: 'host' }>

interface Dress {
  readonly policy: AiPolicyConfig
  readonly requestHeaders: HeaderModifierConfig | null
  readonly responseHeaders: HeaderModifierConfig | null
}

const NO_POLICY: AiPolicyConfig = {
  modelAliases: {},
  routes: {},
  defaults: {},
  overrides: {},
  usage: 'inject',
}

/** Of one route. */
export class LlmPlanner {
  readonly #ways: Ways
  readonly #route: RouteConfig
  readonly #metering: Metering

  constructor(ways: Ways, route: RouteConfig, metering: Metering) {
    this.#ways = ways
    this.#route = route
    this.#metering = metering
  }

  /** An `ai` backend. */
  ofProviders(backend: Ai): Backend {
    const policy = this.#policyOf(backend)
    const dress = { policy, requestHeaders: null, responseHeaders: null }
    const levels = backend.ai.groups.map((entries) =>
      entries.map((entry) => ({ candidate: this.#candidate(backend, entry, dress), weight: 1 })),
    )
    const catalogue = new OpenCatalogue(levels, policy.modelAliases)
    return this.#backend(backend, policy, catalogue, editedBy([policy]))
  }

  /** The `llm` section. */
  ofModels(backend: Llm): Backend {
    const policy = this.#policyOf(backend)
    const listed = backend.llm.models.map((model) => this.#listed(backend, model, policy))
    const byName = new Map(listed.map((model) => [model.name, model]))
    const mixed = backend.llm.virtualModels.map((model) => mixedOf(model, byName))
    const names = editedBy([policy, ...backend.llm.models])
    return this.#backend(backend, policy, new ModelCatalogue(listed, mixed), names)
  }

  /** A plain backend, where tokens are limited. */
  metered(backend: Host, plain: Backend): Backend {
    const { meter, scope } = this.#metering
    if (meter === null) return plain
    const policy = this.#policyOf(backend)
    const entry: AiEntry = {
      name: plain.endpoint,
      provider: { kind: 'custom', formats: [{ type: 'detect', path: null }], model: null },
      endpoint: backend.endpoint,
      pathOverride: null,
      pathPrefix: null,
      auth: null,
      tls: null,
    }
    const candidate = this.#candidateOf(entry, plain, policy)
    this.#ways.health.addCandidate(backend.key, candidate)
    const catalogue = new OpenCatalogue([[{ candidate, weight: 1 }]], {})
    const llm = this.#backend(backend, policy, catalogue, editedBy([policy]))
    return new MeteredBackend(plain, llm, looksLikeLlm(new FormatTable(policy.routes), scope))
  }

  #policyOf(backend: BackendConfig): AiPolicyConfig {
    return backend.policies.ai ?? this.#route.policies.ai ?? NO_POLICY
  }

  /** `names` are the members of a body that may be edited. */
  #backend(
    { kind }: BackendConfig,
    policy: AiPolicyConfig,
    catalogue: Catalogue,
    names: readonly string[],
  ): LlmBackend {
    const { meter, needs } = this.#metering
    const { held, limits } = this.#ways
    const holdFor = needs === 'model' ? 'model' : catalogue.needs
    const isEdited = names.length > 1 || catalogue.edits === 'model'
    const settings: LlmSettings = {
      formats: new FormatTable(policy.routes),
      catalogue,
      meter,
      prompts: {
        holdFor,
        together: held,
        maxHeldBytes: limits.maxHeldBytes,
        keep: LLM_REPLAY_BYTES,
        watched: watchedWith(names),
      },
      host: kind === 'host' ? 'plain' : 'provider',
      edits: isEdited ? 'members' : 'nothing',
      usage: meter !== null && policy.usage === 'inject' ? 'ask' : 'leave',
    }
    return new LlmBackend(settings)
  }

  #listed(backend: Llm, model: LlmModel, policy: AiPolicyConfig): ListedModel {
    const { name, visibility, authorization, entry, requestHeaders, responseHeaders } = model
    const merged = {
      ...policy,
      defaults: { ...policy.defaults, ...model.defaults },
      overrides: { ...policy.overrides, ...model.overrides },
    }
    const dress = { policy: merged, requestHeaders, responseHeaders }
    return { name, visibility, authorization, candidate: this.#candidate(backend, entry, dress) }
  }

  #candidate(backend: Ai | Llm, entry: AiEntry, dress: Dress): Candidate {
    const route = this.#route.policies
    const auth = entry.auth ?? backend.policies.backendAuth ?? route.backendAuth
    const way = new ProviderBackend(this.#way(backend, entry), entry.provider, auth)
    const policies = this.#ways.policies.ofProvider({ auth: entry.auth, ...dress })
    const policed = policies.length === 0 ? way : new PolicedBackend(way, policies, enforce)
    const candidate = this.#candidateOf(entry, policed, dress.policy)
    return this.#ways.health.addCandidate(backend.key, candidate)
  }

  #candidateOf(entry: AiEntry, backend: Backend, policy: AiPolicyConfig): Candidate {
    const { log } = this.#ways
    const tell = (model: string): void =>
      log.line('info', 'llm', 'a model does not know include_usage: it is not asked to count', [
        'provider',
        entry.name,
        'model',
        model,
      ])
    return {
      entry,
      backend,
      overrides: jsonOf(policy.overrides),
      defaults: jsonOf(policy.defaults),
      health: new Health(),
      refusals: new Refusals(tell),
    }
  }

  #way({ key, policies }: Ai | Llm, { provider, endpoint, tls }: AiEntry): Backend {
    const route = this.#route.policies
    const where = endpoint ?? ownHost(provider)
    if (where === null) {
      const formats = new FormatTable((policies.ai ?? route.ai)?.routes)
      return new MockProvider((path) => formats.of(path))
    }
    const secured = tls ?? policies.backendTLS ?? route.backendTLS
    // Real providers speak TLS only; whoever names a host says so himself.
    const pool = this.#ways.pool(key, where, secured ?? (endpoint === null ? SYSTEM_TLS : null))
    return new HttpBackend(pool, route.timeout?.backendRequestTimeout ?? 0)
  }
}

type Editing = Pick<AiPolicyConfig, 'defaults' | 'overrides'>

function editedBy(all: readonly Editing[]): string[] {
  const names = all.flatMap(({ defaults, overrides }) => [
    ...Object.keys(defaults),
    ...Object.keys(overrides),
  ])
  return ['model', ...names]
}

function jsonOf(fields: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}

function mixedOf(
  { name, routing }: VirtualModel,
  listed: ReadonlyMap<string, ListedModel>,
): MixedModel {
  // The check of the configuration has found each of them.
  const find = (model: string): ListedModel => listed.get(model)!
  switch (routing.kind) {
    case 'conditional': {
      const conditions = routing.targets.map(({ model, when }) => ({ model: find(model), when }))
      return { name, levels: [], conditions }
    }
    case 'weighted': {
      const level = routing.targets.map(({ model, weight }) => ({ model: find(model), weight }))
      return { name, levels: [level], conditions: [] }
    }
    case 'failover': {
      const priorities = [...new Set(routing.targets.map(({ priority }) => priority))]
      const levels = priorities
        .toSorted((a, b) => a - b)
        .map((level) =>
          routing.targets
            .filter(({ priority }) => priority === level)
            .map(({ model }) => ({ model: find(model), weight: 1 })),
        )
      return { name, levels, conditions: [] }
    }
  }
}
