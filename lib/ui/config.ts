// /api/config: the configuration in force as YAML that says where each part was written, and what became of policy resources
// and of the last reload.

import { bindKey } from '../base/config/bind-key.ts'
import type { Refusal } from '../base/config/error.ts'
import type { PolicyResource } from '../base/config/resource-types.ts'
import { resourceName } from '../base/config/resources.ts'
import { ShownParts } from '../base/config/shown-parts.ts'
import type { Addresses } from '../base/config/shown-parts.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RouteConfig,
} from '../base/config/types.ts'
import type { ConfigView, ResourceState } from './api.ts'
import type { InForce } from './gateway-facts.ts'
import { bindText } from './runtime.ts'
import { Placed, yamlText } from './yaml-text.ts'

/** Characters; the rest is cut. */
const MAX_YAML = 1_048_576
/** Files, warnings and resources: the first of many. */
const MAX_LISTED = 500

/** The configuration as it is shown, and why the last attempt to load another was refused. */
export interface Shown {
  readonly parts: ShownParts
  readonly yaml: string
  readonly refusal: Refusal | null
}

export function configView(inForce: InForce, { parts, yaml, refusal }: Shown): ConfigView {
  const { config, generation, loadedAt } = inForce
  const shown = (lines: readonly string[]): string[] =>
    lines.slice(0, MAX_LISTED).map((line) => String(parts.showing.show(line)))
  return {
    generation,
    loadedAt: loadedAt.getTime(),
    file: config.file,
    files: config.files.slice(0, MAX_LISTED),
    yaml,
    warnings: shown(config.warnings),
    resources: config.resources.slice(0, MAX_LISTED).map((resource) => stateOf(resource, shown)),
    refusal: refusal && { at: refusal.at.getTime(), problems: shown(refusal.problems) },
  }
}

function stateOf(
  resource: PolicyResource,
  shown: (lines: readonly string[]) => string[],
): ResourceState {
  const { place, status } = resource
  const conditions = status.ancestors.flatMap(({ ancestorRef: ref, conditions: all }) =>
    all.map(({ type, status: holds, reason, message }) => ({
      target: ref === null ? '' : `${ref.kind} ${ref.name}`,
      type,
      status: holds,
      reason,
      message: shown([message]).join(),
    })),
  )
  return { name: resourceName(resource), place, conditions }
}

export function configYaml(config: Config, addresses: Addresses, most = MAX_YAML): string {
  return new Written(config).text(addresses, most)
}

class Written {
  readonly #config: Config
  readonly #parts: ShownParts

  constructor(config: Config) {
    this.#config = config
    this.#parts = new ShownParts(config)
  }

  /** Lists are made as they are written: what is cut was never made. */
  text(addresses: Addresses, most: number): string {
    const { gateways, wire, ui, resources } = this.#config
    const whole = {
      config: this.#parts.process(this.#config, addresses),
      frontendPolicies: this.#parts.frontend(wire),
      gateways: mapped(gateways, (gateway) => this.#gateway(gateway)),
      ui: ui === null ? undefined : this.#ui(ui),
      policies: resources.length === 0 ? undefined : this.#parts.showing.written(resources),
    }
    return yamlText(whole, most)
  }

  #gateway(gateway: GatewayConfig): Placed {
    const { name, port, listeners, limits } = gateway
    return this.#placed(bindKey(port), {
      name,
      address: bindText(gateway),
      policies: this.#policies({}, limits),
      listeners: mapped(listeners, (listener) => this.#listener(listener)),
    })
  }

  #listener({ key, hostname, protocol, tls, policies, routes }: ListenerConfig): Placed {
    return this.#placed(key, {
      key,
      hostname: hostname === '' ? undefined : hostname,
      protocol,
      tls: tls === null ? undefined : this.#parts.tls(tls),
      policies: this.#policies(policies, []),
      routes: mapped(routes, (route) => this.#route(route)),
    })
  }

  #route({ key, name, hostnames, matches, policies, limits, backends }: RouteConfig): Placed {
    return this.#placed(key, {
      key,
      name,
      hostnames: hostnames.length === 0 ? undefined : hostnames,
      matches: mapped(matches, (match) => withoutEmpty(this.#parts.match(match))),
      policies: this.#policies(policies, limits),
      backends: mapped(backends, (backend) => this.#backend(backend)),
    })
  }

  #backend(backend: BackendConfig): Placed {
    const { key, kind, weight, policies } = backend
    return this.#placed(key, {
      key,
      weight,
      [kind]: this.#parts.target(backend),
      policies: this.#policies(policies, []),
    })
  }

  #ui({ listeners, policies }: NonNullable<Config['ui']>): Placed {
    return this.#placed('ui', { listeners, policies: this.#policies(policies, []) })
  }

  #policies(policies: object, limits: RouteConfig['limits']): unknown {
    const shown = this.#parts.policies(policies)
    if (limits.length > 0) shown['rateLimit'] = { local: this.#parts.limits(limits) }
    return Object.keys(shown).length === 0 ? undefined : shown
  }

  /** A line is enough to find it. */
  #placed(key: string, fields: Readonly<Record<string, unknown>>): Placed {
    return new Placed(fields, this.#config.places.get(key)?.replace(/:\d+$/, ''))
  }
}

function* mapped<T>(items: readonly T[], view: (item: T) => unknown): Generator<unknown> {
  for (const item of items) yield view(item)
}

function withoutEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  )
}
