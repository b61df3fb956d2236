// Limits made live: those of a route and of the gateway around it, counted here or by a service.

import type { LimitConfig, RemoteDescriptor, RemoteLimitConfig } from '../policy-types.ts'
import type { RouteConfig } from '../config-types.ts'
import type { RateLimitRule } from '../../enforce/limit/limit-rule.ts'
import type { Log } from '../../core/log.ts'
import type { TokenMeter, Policy } from '../../core/types.ts'
import {
  createSharedRateLimitPolicy,
  createSharedTokenMeter,
} from '../../enforce/limit/shared-limits.ts'
import type { LimitRegistry } from '../../enforce/limit/limits.ts'
import {
  combineMeters,
  createLocalRateLimitPolicy,
  createTokenMeter,
} from '../../enforce/limit/local-limits.ts'
import {
  createRemoteRateLimitPolicy,
  createRemoteTokenMeter,
} from '../../enforce/limit/remote-limit.ts'
import type { RateLimitService, RateLimitServices } from '../../enforce/limit/rate-limit-service.ts'
import type { TokenMetering } from './plan-llm.ts'

/** A gateway whose limits are over all its routes together. */
interface GatewayLimitScope {
  readonly name: string
  readonly limits: readonly LimitConfig[]
}

export interface RouteLimits {
  /** Requests, and the headers of every answer. */
  readonly policies: readonly Policy[]
  readonly metering: TokenMetering
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
    const policies = rules.length === 0 ? [] : [this.#policyOf(rules)]
    const meters = tokens.length === 0 ? [] : [this.#meterOf(tokens)]
    const remote = remoteRateLimit === null ? NONE : this.#remote(remoteRateLimit)
    const byModel =
      tokens.some(({ config }) => config.key?.reads('llm') === true) ||
      remoteRateLimit?.descriptors.some(readsModel) === true
    const isOwn = remote.meters.length > 0 || tokens.some((rule) => own.includes(rule))
    return {
      policies: [...policies, ...remote.policies],
      metering: {
        meter: combineMeters([...meters, ...remote.meters]),
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

  #meterOf(rules: readonly RateLimitRule[]): TokenMeter {
    const { ownerClient } = this.#limits
    return ownerClient === null
      ? createTokenMeter(rules)
      : createSharedTokenMeter(rules, ownerClient)
  }

  #rule(owner: string, config: LimitConfig): RateLimitRule {
    // Whatever is written in front of its route or of itself must not give it another bucket.
    const name = config.name.replace(/^routes\[\d+\]\./, '').replace(/\[\d+\]$/, '')
    const rule = this.#limits.ruleFor(owner, { ...config, name })
    this.rules.add(rule)
    return rule
  }

  /** Requests are asked about before a body is read, tokens when it is. */
  #remote(config: RemoteLimitConfig): RemoteLimits {
    const service = this.#known.serviceFor(config.endpoint)
    this.services.add(service)
    const counts = new Set(config.descriptors.map((one) => one.counts))
    return {
      // Also where only tokens count: it has the service's word on the answer.
      policies: [createRemoteRateLimitPolicy(config, service, this.#log)],
      meters: counts.has('tokens') ? [createRemoteTokenMeter(config, service, this.#log)] : [],
    }
  }
}

/** What it costs is asked when all is known. */
function readsModel({ counts, entries, limitOverride }: RemoteDescriptor): boolean {
  const asked = [...entries.map(({ value }) => value), limitOverride]
  return counts === 'tokens' && asked.some((expression) => expression?.reads('llm') === true)
}

interface RemoteLimits {
  readonly policies: readonly Policy[]
  readonly meters: readonly TokenMeter[]
}

const NONE: RemoteLimits = { policies: [], meters: [] }
