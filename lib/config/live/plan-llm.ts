// LLM backends made live: for each provider a way through the pools, for each model the providers that have it.

import type { ByteBudget } from '../../core/byte-budgets.ts'
import { MAX_LLM_REPLAY_BYTES } from '../../core/bounds.ts'
import type { LlmLimits } from '../../core/bounds.ts'
import { SYSTEM_TLS } from '../check/check-backend-policies.ts'
import type { AiEntry, AiPolicyConfig, LlmModel, VirtualModel } from '../backend-types.ts'
import type {
  BackendConfig,
  BackendTlsConfig,
  EndpointAddress,
  RouteConfig,
} from '../config-types.ts'
import type { Log } from '../../core/log.ts'
import type { Backend } from '../../core/types.ts'
import { enforce } from '../../enforce/run-policies.ts'
import type { PolicyFactory } from '../../enforce/make-policies.ts'
import { HttpBackend } from '../../forward/http/http-backend.ts'
import type { ConnectionPool } from '../../forward/http/pool.ts'
import {
  createLlmRequestMatcher,
  LlmBackend,
  MeteredBackend,
} from '../../forward/llm/llm-backend.ts'
import type { LlmSettings } from '../../forward/llm/llm-backend.ts'
import type {
  ListedModelEntry,
  ProviderCandidate,
  ProviderCatalogue,
  VirtualModelEntry,
} from '../../forward/llm/provider-catalogue.ts'
import {
  AnyModelCatalogue,
  ListedModelCatalogue,
  ProviderHealth,
  UsageOptionRefusals,
} from '../../forward/llm/provider-catalogue.ts'
import { FormatTable } from '../../forward/llm/llm-formats.ts'
import { MockProvider } from '../../forward/llm/mock/mock-provider.ts'
import { createWatchedMembers } from '../../forward/llm/prompt/prompt-outline.ts'
import { ProviderBackend, providerEndpointOf } from '../../forward/llm/provider.ts'
import { BackendWithPolicies } from '../../forward/backend-attempt.ts'
import type { BackendHealth } from './backend-health.ts'
import type { HeaderModifierConfig } from '../../expressions/computed-headers.ts'

/** Whether tokens are limited on a route, and what the limits need of a request. */
export interface TokenLimiting {
  readonly isLimited: boolean
  /** `model` if the key of a limit reads it. */
  readonly needs: 'model' | 'nothing'
  /** `route` if a limit is configured on the route itself. */
  readonly scope: 'route' | 'gateway'
}

/** What LLM backends share with all others. */
export interface LlmPlanResources {
  readonly policies: PolicyFactory
  readonly held: ByteBudget
  readonly limits: LlmLimits
  readonly log: Log
  readonly health: BackendHealth
  /** For a backend, by its key. */
  pool(backend: string, endpoint: EndpointAddress, tls: BackendTlsConfig | null): ConnectionPool
}

type AiBackendConfig = Extract<BackendConfig, { kind: 'ai' }>
type LlmBackendConfig = Extract<BackendConfig, { kind: 'llm' }>
type HostBackendConfig = Extract<BackendConfig, { kind: 'host' }>

interface CandidatePolicies {
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
  readonly #ways: LlmPlanResources
  readonly #route: RouteConfig
  readonly #tokens: TokenLimiting

  constructor(ways: LlmPlanResources, route: RouteConfig, tokens: TokenLimiting) {
    this.#ways = ways
    this.#route = route
    this.#tokens = tokens
  }

  /** An `ai` backend. */
  planProviders(backend: AiBackendConfig): Backend {
    const policy = this.#policyOf(backend)
    const dress = { policy, requestHeaders: null, responseHeaders: null }
    const levels = backend.ai.groups.map((entries) =>
      entries.map((entry) => ({ candidate: this.#candidate(backend, entry, dress), weight: 1 })),
    )
    const catalogue = new AnyModelCatalogue(levels, policy.modelAliases)
    return this.#backend(backend, policy, catalogue, editedMembersOf([policy]))
  }

  /** The `llm` section. */
  planModels(backend: LlmBackendConfig): Backend {
    const policy = this.#policyOf(backend)
    const listed = backend.llm.models.map((model) => this.#listed(backend, model, policy))
    const byName = new Map(listed.map((model) => [model.name, model]))
    const mixed = backend.llm.virtualModels.map((model) => planVirtualModel(model, byName))
    const names = editedMembersOf([policy, ...backend.llm.models])
    return this.#backend(backend, policy, new ListedModelCatalogue(listed, mixed), names)
  }

  /** A plain backend, where tokens are limited. */
  planMetered(backend: HostBackendConfig, plain: Backend): Backend {
    const { isLimited, scope } = this.#tokens
    if (!isLimited) return plain
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
    const catalogue = new AnyModelCatalogue([[{ candidate, weight: 1 }]], {})
    const llm = this.#backend(backend, policy, catalogue, editedMembersOf([policy]))
    return new MeteredBackend(
      plain,
      llm,
      createLlmRequestMatcher(new FormatTable(policy.routes), scope),
    )
  }

  #policyOf(backend: BackendConfig): AiPolicyConfig {
    return backend.policies.ai ?? this.#route.policies.ai ?? NO_POLICY
  }

  /** `names` are the members of a body that may be edited. */
  #backend(
    { kind }: BackendConfig,
    policy: AiPolicyConfig,
    catalogue: ProviderCatalogue,
    names: readonly string[],
  ): LlmBackend {
    const { isLimited, needs } = this.#tokens
    const { held, limits } = this.#ways
    const holdFor = needs === 'model' ? 'model' : catalogue.needs
    const isEdited = names.length > 1 || catalogue.edits === 'model'
    const settings: LlmSettings = {
      formats: new FormatTable(policy.routes),
      catalogue,
      limitsTokens: isLimited,
      prompts: {
        holdFor,
        sharedBudget: held,
        maxHeldBytes: limits.maxHeldBytes,
        maxKeptBytes: MAX_LLM_REPLAY_BYTES,
        watchedMembers: createWatchedMembers(names),
      },
      host: kind === 'host' ? 'plain' : 'provider',
      edits: isEdited ? 'members' : 'nothing',
      usage: isLimited && policy.usage === 'inject' ? 'ask' : 'leave',
    }
    return new LlmBackend(settings)
  }

  #listed(backend: LlmBackendConfig, model: LlmModel, policy: AiPolicyConfig): ListedModelEntry {
    const { name, visibility, authorization, entry, requestHeaders, responseHeaders } = model
    const merged = {
      ...policy,
      defaults: { ...policy.defaults, ...model.defaults },
      overrides: { ...policy.overrides, ...model.overrides },
    }
    const dress = { policy: merged, requestHeaders, responseHeaders }
    return { name, visibility, authorization, candidate: this.#candidate(backend, entry, dress) }
  }

  #candidate(
    backend: AiBackendConfig | LlmBackendConfig,
    entry: AiEntry,
    dress: CandidatePolicies,
  ): ProviderCandidate {
    const route = this.#route.policies
    const auth = entry.auth ?? backend.policies.backendAuth ?? route.backendAuth
    const way = new ProviderBackend(this.#way(backend, entry), entry.provider, auth)
    const policies = this.#ways.policies.createForProvider({ auth: entry.auth, ...dress })
    const policed = policies.length === 0 ? way : new BackendWithPolicies(way, policies, enforce)
    const candidate = this.#candidateOf(entry, policed, dress.policy)
    return this.#ways.health.addCandidate(backend.key, candidate)
  }

  #candidateOf(entry: AiEntry, backend: Backend, policy: AiPolicyConfig): ProviderCandidate {
    const { log } = this.#ways
    const tell = (model: string): void =>
      log.write('info', 'llm', 'a model does not know include_usage: it is not asked to count', [
        'provider',
        entry.name,
        'model',
        model,
      ])
    return {
      entry,
      backend,
      overrides: serializeMembers(policy.overrides),
      defaults: serializeMembers(policy.defaults),
      health: new ProviderHealth(),
      usageRefusals: new UsageOptionRefusals(tell),
    }
  }

  #way(
    { key, policies }: AiBackendConfig | LlmBackendConfig,
    { provider, endpoint, tls }: AiEntry,
  ): Backend {
    const route = this.#route.policies
    const where = endpoint ?? providerEndpointOf(provider)
    if (where === null) {
      const formats = new FormatTable((policies.ai ?? route.ai)?.routes)
      return new MockProvider((path) => formats.formatOf(path))
    }
    const secured = tls ?? policies.backendTLS ?? route.backendTLS
    // Real providers speak TLS only; whoever names a host says so himself.
    const pool = this.#ways.pool(key, where, secured ?? (endpoint === null ? SYSTEM_TLS : null))
    return new HttpBackend(pool, route.timeout?.backendRequestTimeout ?? 0)
  }
}

type DefaultsAndOverrides = Pick<AiPolicyConfig, 'defaults' | 'overrides'>

function editedMembersOf(all: readonly DefaultsAndOverrides[]): string[] {
  const names = all.flatMap(({ defaults, overrides }) => [
    ...Object.keys(defaults),
    ...Object.keys(overrides),
  ])
  return ['model', ...names]
}

function serializeMembers(fields: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}

function planVirtualModel(
  { name, routing }: VirtualModel,
  listed: ReadonlyMap<string, ListedModelEntry>,
): VirtualModelEntry {
  // The check of the configuration has found each of them.
  const find = (model: string): ListedModelEntry => listed.get(model)!
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
