// Plans the rate limits of a route and of its gateway, which are counted by this gateway or by a rate limit service.

import type { LimitConfig, RemoteDescriptor, RemoteLimitConfig } from '../policy-types.ts'
import type { RouteConfig } from '../config-types.ts'
import type { RateLimitRule } from '../../enforce/limit/limit-rule.ts'
import type { Log } from '../../core/log.ts'
import type { Policy } from '../../core/types.ts'
import {
  createSharedRateLimitPolicy,
  createSharedTokenLimitPolicy,
} from '../../enforce/limit/shared-limits.ts'
import type { CostHistory } from '../../enforce/limit/learned-costs.ts'
import type { LimitRegistry } from '../../enforce/limit/limits.ts'
import {
  createLocalRateLimitPolicy,
  createTokenLimitPolicy,
} from '../../enforce/limit/local-limits.ts'
import {
  createRemoteRateLimitPolicy,
  createRemoteTokenLimitPolicy,
} from '../../enforce/limit/remote-limit.ts'
import type { RateLimitService, RateLimitServices } from '../../enforce/limit/rate-limit-service.ts'
import { DEFAULT_NAMESPACE } from '../check/check-gateways.ts'
import type { TokenLimiting } from './plan-llm.ts'

/** A gateway with limits that count the requests of all its routes together. */
interface GatewayLimitScope {
  readonly name: string
  readonly limits: readonly LimitConfig[]
}

export interface RouteLimits {
  /** The limits of requests and of tokens, and the headers of every response. */
  readonly policies: readonly Policy[]
  readonly tokens: TokenLimiting
}

export class LimitPlanner {
  /** The rules of the plan with their names; a rule is shared with the active plan, so it keeps its own name for now. */
  readonly rules = new Map<RateLimitRule, string>()
  readonly services = new Set<RateLimitService>()
  /** What is learned about the tokens that these services count. */
  readonly costHistories = new Set<CostHistory>()
  readonly #limits: LimitRegistry
  readonly #knownServices: RateLimitServices
  readonly #log: Log

  constructor(limits: LimitRegistry, knownServices: RateLimitServices, log: Log) {
    this.#limits = limits
    this.#knownServices = knownServices
    this.#log = log
  }

  planRoute(
    { name, namespace, limits, policies: { remoteRateLimit } }: RouteConfig,
    gateway: GatewayLimitScope,
  ): RouteLimits {
    const gatewayRules = gateway.limits.map((limit) =>
      this.#ruleFor(`gateway/${gateway.name}`, limit),
    )
    const owner = `route/${namespace === DEFAULT_NAMESPACE ? '' : `${namespace}/`}${name}`
    const routeRules = limits.map((limit) => this.#ruleFor(owner, limit))
    const rules = [...gatewayRules, ...routeRules]
    const tokens = rules.filter(({ config }) => config.counts === 'tokens')
    const policies: Policy[] = []
    if (rules.length > 0) policies.push(this.#createRatePolicy(rules))
    if (tokens.length > 0) policies.push(this.#createTokenPolicy(tokens))
    if (remoteRateLimit !== null)
      policies.push(...this.#createRemotePolicies(owner, remoteRateLimit))
    const hasRemoteTokens =
      remoteRateLimit?.descriptors.some(({ counts }) => counts === 'tokens') === true
    const needsModel =
      tokens.some(({ config }) => config.key?.reads('llm') === true) ||
      remoteRateLimit?.descriptors.some(readsModel) === true
    const isRouteLimit = hasRemoteTokens || tokens.some((rule) => routeRules.includes(rule))
    return {
      policies,
      tokens: {
        isLimited: hasRemoteTokens || tokens.length > 0,
        needs: needsModel ? 'model' : 'nothing',
        scope: isRouteLimit ? 'route' : 'gateway',
      },
    }
  }

  #createRatePolicy(rules: readonly RateLimitRule[]): Policy {
    const { ownerClient } = this.#limits
    return ownerClient === null
      ? createLocalRateLimitPolicy(rules)
      : createSharedRateLimitPolicy(rules, ownerClient)
  }

  #createTokenPolicy(rules: readonly RateLimitRule[]): Policy {
    const { ownerClient } = this.#limits
    return ownerClient === null
      ? createTokenLimitPolicy(rules)
      : createSharedTokenLimitPolicy(rules, ownerClient)
  }

  #ruleFor(owner: string, config: LimitConfig): RateLimitRule {
    const name = config.name.replace(/^routes\[\d+\]\./, '')
    // Without its index: a limit that is inserted earlier in the list must not change the bucket.
    const list = name.replace(/\[\d+\]$/, '')
    const rule = this.#limits.ruleFor(owner, { ...config, name }, list)
    // Of equal limits, which are one rule, the first one names it.
    if (!this.rules.has(rule)) this.rules.set(rule, name)
    return rule
  }

  #createRemotePolicies(owner: string, config: RemoteLimitConfig): Policy[] {
    const service = this.#knownServices.serviceFor(config.endpoint)
    this.services.add(service)
    // Also needed if only tokens are limited: it adds the headers of the service to the response.
    const policies: Policy[] = [createRemoteRateLimitPolicy(config, service, this.#log)]
    if (config.descriptors.some(({ counts }) => counts === 'tokens')) {
      const costs = this.#knownServices.costsFor(owner, config)
      this.costHistories.add(costs)
      policies.push(createRemoteTokenLimitPolicy(config, { service, costs }, this.#log))
    }
    return policies
  }
}

/** Whether a token descriptor reads the model; its cost is an expression that is evaluated after the response. */
function readsModel({ counts, entries, limitOverride }: RemoteDescriptor): boolean {
  const expressions = [...entries.map(({ value }) => value), limitOverride]
  return counts === 'tokens' && expressions.some((expression) => expression?.reads('llm') === true)
}
