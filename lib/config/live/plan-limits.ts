// Limits made live: those of a route and of the gateway around it, counted here or by a service.

import type { LimitConfig, RemoteDescriptor, RemoteLimitConfig } from '../policy-types.ts'
import type { RouteConfig } from '../config-types.ts'
import type { RateLimitRule } from '../../enforce/limit/limit-rule.ts'
import type { Log } from '../../core/log.ts'
import type { Policy } from '../../core/types.ts'
import {
  createSharedRateLimitPolicy,
  createSharedTokenLimitPolicy,
} from '../../enforce/limit/shared-limits.ts'
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
import type { TokenLimiting } from './plan-llm.ts'

/** A gateway whose limits are over all its routes together. */
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
  readonly rules = new Set<RateLimitRule>()
  readonly services = new Set<RateLimitService>()
  readonly #limits: LimitRegistry
  readonly #known: RateLimitServices
  readonly #log: Log

  constructor(limits: LimitRegistry, known: RateLimitServices, log: Log) {
    this.#limits = limits
    this.#known = known
    this.#log = log
  }

  planRoute(
    { name, limits, policies: { remoteRateLimit } }: RouteConfig,
    gateway: GatewayLimitScope,
  ): RouteLimits {
    const around = gateway.limits.map((limit) => this.#rule(`gateway/${gateway.name}`, limit))
    const own = limits.map((limit) => this.#rule(`route/${name}`, limit))
    const rules = [...around, ...own]
    const tokens = rules.filter(({ config }) => config.counts === 'tokens')
    const policies: Policy[] = []
    if (rules.length > 0) policies.push(this.#policyOf(rules))
    if (tokens.length > 0) policies.push(this.#tokenPolicyOf(tokens))
    if (remoteRateLimit !== null) policies.push(...this.#remote(remoteRateLimit))
    const isRemote = remoteRateLimit?.descriptors.some(({ counts }) => counts === 'tokens') === true
    const byModel =
      tokens.some(({ config }) => config.key?.reads('llm') === true) ||
      remoteRateLimit?.descriptors.some(readsModel) === true
    const isOwn = isRemote || tokens.some((rule) => own.includes(rule))
    return {
      policies,
      tokens: {
        isLimited: isRemote || tokens.length > 0,
        needs: byModel ? 'model' : 'nothing',
        scope: isOwn ? 'route' : 'gateway',
      },
    }
  }

  #policyOf(rules: readonly RateLimitRule[]): Policy {
    const { ownerClient } = this.#limits
    return ownerClient === null
      ? createLocalRateLimitPolicy(rules)
      : createSharedRateLimitPolicy(rules, ownerClient)
  }

  #tokenPolicyOf(rules: readonly RateLimitRule[]): Policy {
    const { ownerClient } = this.#limits
    return ownerClient === null
      ? createTokenLimitPolicy(rules)
      : createSharedTokenLimitPolicy(rules, ownerClient)
  }

  #rule(owner: string, config: LimitConfig): RateLimitRule {
    // Whatever is written in front of its route or of itself must not give it another bucket.
    const name = config.name.replace(/^routes\[\d+\]\./, '').replace(/\[\d+\]$/, '')
    const rule = this.#limits.ruleFor(owner, { ...config, name })
    this.rules.add(rule)
    return rule
  }

  #remote(config: RemoteLimitConfig): Policy[] {
    const service = this.#known.serviceFor(config.endpoint)
    this.services.add(service)
    // Also needed if only tokens are limited: it adds the headers of the service to the response.
    const policies: Policy[] = [createRemoteRateLimitPolicy(config, service, this.#log)]
    if (config.descriptors.some(({ counts }) => counts === 'tokens'))
      policies.push(createRemoteTokenLimitPolicy(config, service, this.#log))
    return policies
  }
}

/** What it costs is asked when all is known. */
function readsModel({ counts, entries, limitOverride }: RemoteDescriptor): boolean {
  const asked = [...entries.map(({ value }) => value), limitOverride]
  return counts === 'tokens' && asked.some((expression) => expression?.reads('llm') === true)
}
