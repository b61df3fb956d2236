// Limits made live: those of a route and of the gateway around it, counted here or by a service.

import type {
  LimitConfig,
  RemoteDescriptor,
  RemoteLimitConfig,
} from '../base/config/limit-types.ts'
import type { RouteConfig } from '../base/config/types.ts'
import type { Rule } from '../base/limit/rule.ts'
import type { Log } from '../base/log/log.ts'
import type { Meter, Policy } from '../base/types.ts'
import { askedLimit, askedTokenLimits } from '../enforce/asked-limits.ts'
import type { Limits } from '../enforce/limits.ts'
import { localLimit } from '../enforce/local-limit.ts'
import { allMeters } from '../enforce/meters.ts'
import { remoteLimit, remoteTokenLimits } from '../enforce/remote-limit.ts'
import type { RateLimitService } from '../enforce/remote-limit/client.ts'
import type { RateLimitServices } from '../enforce/remote-limit/services.ts'
import { tokenLimits } from '../enforce/token-limits.ts'
import type { Metering } from './llm.ts'

/** A gateway whose limits are over all its routes together. */
interface Around {
  readonly name: string
  readonly limits: readonly LimitConfig[]
}

export interface RouteLimits {
  /** Requests, and the headers of every answer. */
  readonly policies: readonly Policy[]
  readonly metering: Metering
}

export class LimitPlanner {
  readonly rules = new Set<Rule>()
  readonly services = new Set<RateLimitService>()
  readonly #limits: Limits
  readonly #known: RateLimitServices
  readonly #log: Log

  constructor(limits: Limits, known: RateLimitServices, log: Log) {
    this.#limits = limits
    this.#known = known
    this.#log = log
  }

  of({ name, limits, policies: { remoteRateLimit } }: RouteConfig, gateway: Around): RouteLimits {
    const around = gateway.limits.map((limit) => this.#rule(`gateway/${gateway.name}`, limit))
    const own = limits.map((limit) => this.#rule(`route/${name}`, limit))
    const rules = [...around, ...own]
    const tokens = rules.filter(({ config }) => config.counts === 'tokens')
    const policies = rules.length === 0 ? [] : [this.#policyOf(rules)]
    const meters = tokens.length === 0 ? [] : [this.#meterOf(tokens)]
    const remote = remoteRateLimit === null ? NONE : this.#remote(remoteRateLimit)
    const byModel =
      tokens.some(({ config }) => config.key?.reads('llm') === true) ||
      remoteRateLimit?.descriptors.some(goesByModel) === true
    const isOwn = remote.meters.length > 0 || tokens.some((rule) => own.includes(rule))
    return {
      policies: [...policies, ...remote.policies],
      metering: {
        meter: allMeters([...meters, ...remote.meters]),
        needs: byModel ? 'model' : 'nothing',
        scope: isOwn ? 'route' : 'gateway',
      },
    }
  }

  #policyOf(rules: readonly Rule[]): Policy {
    const { asker } = this.#limits
    return asker === null ? localLimit(rules) : askedLimit(rules, asker)
  }

  #meterOf(rules: readonly Rule[]): Meter {
    const { asker } = this.#limits
    return asker === null ? tokenLimits(rules) : askedTokenLimits(rules, asker)
  }

  #rule(owner: string, config: LimitConfig): Rule {
    // Whatever is written in front of its route or of itself must not give it another bucket.
    const name = config.name.replace(/^routes\[\d+\]\./, '').replace(/\[\d+\]$/, '')
    const rule = this.#limits.of(owner, { ...config, name })
    this.rules.add(rule)
    return rule
  }

  /** Requests are asked about before a body is read, tokens when it is. */
  #remote(config: RemoteLimitConfig): Remote {
    const service = this.#known.of(config.endpoint)
    this.services.add(service)
    const counts = new Set(config.descriptors.map((one) => one.counts))
    return {
      // Also where only tokens count: it has the service's word on the answer.
      policies: [remoteLimit(config, service, this.#log)],
      meters: counts.has('tokens') ? [remoteTokenLimits(config, service, this.#log)] : [],
    }
  }
}

/** What it costs is asked when all is known. */
function goesByModel({ counts, entries, limitOverride }: RemoteDescriptor): boolean {
  const asked = [...entries.map(({ value }) => value), limitOverride]
  return counts === 'tokens' && asked.some((expression) => expression?.reads('llm') === true)
}

interface Remote {
  readonly policies: readonly Policy[]
  readonly meters: readonly Meter[]
}

const NONE: Remote = { policies: [], meters: [] }
