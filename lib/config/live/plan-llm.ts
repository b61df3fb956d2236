// Plans LLM backends: the connection pool of each provider, and the providers of each model.

import type { ByteBudget } from '../../core/byte-budgets.ts'
import type { LlmLimits } from '../../core/bounds.ts'
import { SYSTEM_TLS } from '../check/check-backend-policies.ts'
import type { AiEntry, AiPolicyConfig, LlmModel, VirtualModel } from '../backend-types.ts'
import type {
  BackendAuthConfig,
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
import type { LlmHosts } from '../../forward/cross-site-checks.ts'
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

/** The resources that LLM backends share with other backends. */
export interface LlmPlanResources {
  readonly policies: PolicyFactory
  readonly held: ByteBudget
  readonly limits: LlmLimits
  readonly log: Log
  readonly health: BackendHealth
  /** The pool of an endpoint; `backend` is the key of the backend that uses it. */
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

interface CandidateTarget {
  readonly entry: AiEntry
  readonly backend: Backend
  /** The credential for the provider; null sends that of the client. */
  readonly auth: BackendAuthConfig | null
}

const NO_POLICY: AiPolicyConfig = {
  modelAliases: {},
  routes: {},
  defaults: {},
  overrides: {},
  usage: 'inject',
}

/** Plans the LLM backends of one route. */
export class LlmPlanner {
  readonly #resources: LlmPlanResources
  readonly #route: RouteConfig
  readonly #tokens: TokenLimiting
  readonly #hosts: LlmHosts

  constructor(
    resources: LlmPlanResources,
    route: RouteConfig,
    tokens: TokenLimiting,
    hosts: LlmHosts,
  ) {
    this.#resources = resources
    this.#route = route
    this.#tokens = tokens
    this.#hosts = hosts
  }

  /** An `ai` backend. */
  planProviders(backend: AiBackendConfig): Backend {
    const policy = this.#policyOf(backend)
    const policies = { policy, requestHeaders: null, responseHeaders: null }
    const levels = backend.ai.groups.map((entries) =>
      entries.map((entry) => ({
        candidate: this.#planCandidate(backend, entry, policies),
        weight: 1,
      })),
    )
    const catalogue = new AnyModelCatalogue(levels, policy.modelAliases)
    return this.#createBackend(backend, policy, catalogue, editedMembersOf([policy]))
  }

  /** The backend of the `llm` section. */
  planModels(backend: LlmBackendConfig): Backend {
    const policy = this.#policyOf(backend)
    const listed = backend.llm.models.map((model) => this.#planModel(backend, model, policy))
    const byName = new Map(listed.map((model) => [model.name, model]))
    const virtual = backend.llm.virtualModels.map((model) => planVirtualModel(model, byName))
    const editedMembers = editedMembersOf([policy, ...backend.llm.models])
    const catalogue = new ListedModelCatalogue(listed, virtual)
    return this.#createBackend(backend, policy, catalogue, editedMembers)
  }

  /** A plain backend; if tokens are limited, its LLM requests are metered and sent to `provider`. */
  planMetered(backend: HostBackendConfig, plain: Backend, provider: Backend): Backend {
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
    const target = { entry, backend: provider, auth: null }
    const candidate = this.#createCandidate(target, policy)
    this.#resources.health.addCandidate(backend.key, candidate)
    const catalogue = new AnyModelCatalogue([[{ candidate, weight: 1 }]], {})
    const llm = this.#createBackend(backend, policy, catalogue, editedMembersOf([policy]))
    return new MeteredBackend(
      plain,
      llm,
      createLlmRequestMatcher(new FormatTable(policy.routes), scope),
    )
  }

  #policyOf(backend: BackendConfig): AiPolicyConfig {
    return backend.policies.ai ?? this.#route.policies.ai ?? NO_POLICY
  }

  #createBackend(
    { kind }: BackendConfig,
    policy: AiPolicyConfig,
    catalogue: ProviderCatalogue,
    editedMembers: readonly string[],
  ): LlmBackend {
    const { isLimited, needs } = this.#tokens
    const { held, limits } = this.#resources
    const holdFor = needs === 'model' ? 'model' : catalogue.needs
    const isEdited = editedMembers.length > 1 || catalogue.edits === 'model'
    const usage = selectUsageRequest(policy, isLimited)
    const settings: LlmSettings = {
      formats: new FormatTable(policy.routes),
      catalogue,
      limitsTokens: isLimited,
      prompts: {
        holdFor,
        sharedBudget: held,
        maxHeldBytes: limits.maxHeldBytes,
        // With one provider, a request is sent again only if the provider refuses the option for usage.
        maxKeptBytes: catalogue.hasAlternatives || usage !== 'leave' ? limits.maxKeptBytes : 0,
        watchedMembers: createWatchedMembers(editedMembers),
      },
      host: kind === 'host' ? 'plain' : 'provider',
      hosts: this.#hosts,
      edits: isEdited ? 'members' : 'nothing',
      usage,
      firstByteTimeout: limits.firstByteTimeout,
    }
    return new LlmBackend(settings)
  }

  #planModel(backend: LlmBackendConfig, model: LlmModel, policy: AiPolicyConfig): ListedModelEntry {
    const { name, visibility, authorization, entry, requestHeaders, responseHeaders } = model
    const merged = {
      ...policy,
      defaults: { ...policy.defaults, ...model.defaults },
      overrides: { ...policy.overrides, ...model.overrides },
    }
    const policies = { policy: merged, requestHeaders, responseHeaders }
    const candidate = this.#planCandidate(backend, entry, policies)
    return { name, visibility, authorization, candidate }
  }

  #planCandidate(
    backend: AiBackendConfig | LlmBackendConfig,
    entry: AiEntry,
    candidatePolicies: CandidatePolicies,
  ): ProviderCandidate {
    const route = this.#route.policies
    const auth = entry.auth ?? backend.policies.backendAuth ?? route.backendAuth
    const endpoint = this.#createEndpointBackend(backend, entry)
    const provider = new ProviderBackend(endpoint, entry.provider, auth)
    const policies = this.#resources.policies.createForProvider({
      auth: entry.auth,
      ...candidatePolicies,
    })
    const target =
      policies.length === 0 ? provider : new BackendWithPolicies(provider, policies, enforce)
    const candidate = this.#createCandidate(
      { entry, backend: target, auth },
      candidatePolicies.policy,
    )
    return this.#resources.health.addCandidate(backend.key, candidate)
  }

  #createCandidate(
    { entry, backend, auth }: CandidateTarget,
    policy: AiPolicyConfig,
  ): ProviderCandidate {
    const { log } = this.#resources
    const logRefusal = (model: string): void =>
      log.write('info', 'llm', 'model does not support include_usage', [
        'provider',
        entry.name,
        'model',
        model,
      ])
    return {
      entry,
      backend,
      hasOwnKey: auth !== null && auth.kind !== 'passthrough',
      overrides: serializeMembers(policy.overrides),
      defaults: serializeMembers(policy.defaults),
      health: new ProviderHealth(),
      usageRefusals: new UsageOptionRefusals(logRefusal),
    }
  }

  #createEndpointBackend(
    { key, policies }: AiBackendConfig | LlmBackendConfig,
    { provider, endpoint, tls }: AiEntry,
  ): Backend {
    const route = this.#route.policies
    const address = endpoint ?? providerEndpointOf(provider)
    if (address === null) {
      const formats = new FormatTable((policies.ai ?? route.ai)?.routes)
      return new MockProvider((path) => formats.formatOf(path))
    }
    const configuredTls = tls ?? policies.backendTLS ?? route.backendTLS
    // Public providers accept only TLS; for a configured host the operator configures TLS.
    const defaultTls = endpoint === null ? SYSTEM_TLS : null
    const pool = this.#resources.pool(key, address, configuredTls ?? defaultTls)
    return new HttpBackend(pool, route.timeout?.backendRequestTimeout ?? 0)
  }
}

/** Limits need the usage of streams; the log and metrics only want it. */
function selectUsageRequest({ usage }: AiPolicyConfig, isLimited: boolean): LlmSettings['usage'] {
  if (usage === 'passthrough' || (usage === 'limited' && !isLimited)) return 'leave'
  return isLimited ? 'ask' : 'askIfPossible'
}

type DefaultsAndOverrides = Pick<AiPolicyConfig, 'defaults' | 'overrides'>

/** The members of a request body that the gateway may edit. */
function editedMembersOf(policies: readonly DefaultsAndOverrides[]): string[] {
  const names = policies.flatMap(({ defaults, overrides }) => [
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
  // The configuration check has verified that each model exists.
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
