// /api/config: the configuration in force as YAML that says where each part was written, and what became of policy resources
// and of the last reload.

import type { PolicyResource } from '../../config/backend-types.ts'
import { bindKeyOf } from '../../config/bind-key.ts'
import type { ConfigRefusal } from '../../config/config-error.ts'
import type {
  BackendConfig,
  Config,
  GatewayConfig,
  ListenerConfig,
  RouteConfig,
} from '../../config/config-types.ts'
import { resourceNameOf } from '../../config/policy-resources.ts'
import { ConfigPartFormatter } from '../../config/show.ts'
import type { AdminAddresses } from '../../config/show.ts'
import type { ConfigInForce } from './gateway-facts.ts'
import type { ConfigView, ResourceState } from './page-api-types.ts'
import { formatBind } from './runtime-view.ts'

/** Characters; the rest is cut. */
const MAX_YAML = 1_048_576
/** Files, warnings and resources: the first of many. */
const MAX_LISTED = 500

/** The configuration as it is shown, and why the last attempt to load another was refused. */
export interface ShownConfig {
  readonly parts: ConfigPartFormatter
  readonly yaml: string
  readonly refusal: ConfigRefusal | null
}

export function buildConfigView(
  inForce: ConfigInForce,
  { parts, yaml, refusal }: ShownConfig,
): ConfigView {
  const { config, generation, loadedAt } = inForce
  const shown = (lines: readonly string[]): string[] =>
    lines.slice(0, MAX_LISTED).map((line) => String(parts.formatter.format(line)))
  return {
    generation,
    loadedAt: loadedAt.getTime(),
    file: config.file,
    files: config.files.slice(0, MAX_LISTED),
    yaml,
    warnings: shown(config.warnings),
    resources: config.resources
      .slice(0, MAX_LISTED)
      .map((resource) => resourceStateOf(resource, shown)),
    refusal: refusal && { at: refusal.at.getTime(), problems: shown(refusal.problems) },
  }
}

function resourceStateOf(
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
  return { name: resourceNameOf(resource), place, conditions }
}

export function formatConfigYaml(
  config: Config,
  addresses: AdminAddresses,
  most = MAX_YAML,
): string {
  return new ConfigYamlWriter(config).text(addresses, most)
}

class ConfigYamlWriter {
  readonly #config: Config
  readonly #parts: ConfigPartFormatter

  constructor(config: Config) {
    this.#config = config
    this.#parts = new ConfigPartFormatter(config)
  }

  /** Lists are made as they are written: what is cut was never made. */
  text(addresses: AdminAddresses, most: number): string {
    const { gateways, wire, ui, resources } = this.#config
    const whole = {
      config: this.#parts.formatProcess(this.#config, addresses),
      frontendPolicies: this.#parts.formatFrontend(wire),
      gateways: mapLazily(gateways, (gateway) => this.#gateway(gateway)),
      ui: ui === null ? undefined : this.#ui(ui),
      policies:
        resources.length === 0 ? undefined : this.#parts.formatter.formatAsWritten(resources),
    }
    return formatYaml(whole, most)
  }

  #gateway(gateway: GatewayConfig): PlacedFields {
    const { name, port, listeners, limits } = gateway
    return this.#placed(bindKeyOf(port), {
      name,
      address: formatBind(gateway),
      policies: this.#policies({}, limits),
      listeners: mapLazily(listeners, (listener) => this.#listener(listener)),
    })
  }

  #listener({ key, hostname, protocol, tls, policies, routes }: ListenerConfig): PlacedFields {
    return this.#placed(key, {
      key,
      hostname: hostname === '' ? undefined : hostname,
      protocol,
      tls: tls === null ? undefined : this.#parts.formatTls(tls),
      policies: this.#policies(policies, []),
      routes: mapLazily(routes, (route) => this.#route(route)),
    })
  }

  #route({ key, name, hostnames, matches, policies, limits, backends }: RouteConfig): PlacedFields {
    return this.#placed(key, {
      key,
      name,
      hostnames: hostnames.length === 0 ? undefined : hostnames,
      matches: mapLazily(matches, (match) => withoutEmpty(this.#parts.formatMatch(match))),
      policies: this.#policies(policies, limits),
      backends: mapLazily(backends, (backend) => this.#backend(backend)),
    })
  }

  #backend(backend: BackendConfig): PlacedFields {
    const { key, kind, weight, policies } = backend
    return this.#placed(key, {
      key,
      weight,
      [kind]: this.#parts.formatTarget(backend),
      policies: this.#policies(policies, []),
    })
  }

  #ui({ listeners, policies }: NonNullable<Config['ui']>): PlacedFields {
    return this.#placed('ui', { listeners, policies: this.#policies(policies, []) })
  }

  #policies(policies: object, limits: RouteConfig['limits']): unknown {
    const shown = this.#parts.formatPolicies(policies)
    if (limits.length > 0) shown['rateLimit'] = { local: this.#parts.formatLimits(limits) }
    return Object.keys(shown).length === 0 ? undefined : shown
  }

  /** A line is enough to find it. */
  #placed(key: string, fields: Readonly<Record<string, unknown>>): PlacedFields {
    return new PlacedFields(fields, this.#config.places.get(key)?.replace(/:\d+$/, ''))
  }
}

function* mapLazily<T>(items: readonly T[], view: (item: T) => unknown): Generator<unknown> {
  for (const item of items) yield view(item)
}

function withoutEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  )
}

// Plain data as YAML to be read, with a comment where a part was written. The `yaml` package takes a quarter of a second for
// a megabyte, during which no request would move; this takes a tenth of that, and stops at a bound.

/** Fields of a map whose first line says where it was written. */
export class PlacedFields {
  readonly fields: Readonly<Record<string, unknown>>
  readonly place: string | undefined

  constructor(fields: Readonly<Record<string, unknown>>, place: string | undefined) {
    this.fields = fields
    this.place = place
  }
}

/** Texts that mean themselves without quotes: no sign of YAML's, and nothing that is a number or a word of its own. */
const PLAIN = /^[A-Za-z_/][\w/.@*+-]*(?:[:= ][\w/.@*+-]+)*$/
const PLAIN_NUMBERS = /^(?:\d+(?:ms|s|m|h)|\d+\.\d+\.\d+\.\d+(?::\d+)?)$/
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i
/** Not shown by whoever shows texts, or taken for the end of a line. */
const UNSEEN = /[\x7f-\x9f\u2028\u2029\ufeff]/g

/** May stand between single quotes. */
const SEEN = /^[^\p{Cc}\p{Cs}\u2028\u2029\ufeff]*$/u

const STEP = '  '

class YamlLimitReached extends Error {}

/** `most`: characters; what comes behind them is left out, and a comment says so. Parts may be lists that are made as they are read. */
export function formatYaml(data: Readonly<Record<string, unknown>>, most: number): string {
  const writer = new YamlWriter(most)
  try {
    writer.fields(data, '')
  } catch (error) {
    if (!(error instanceof YamlLimitReached)) throw error
    return `${writer.text}# cut here: there is more than fits in ${most} characters\n`
  }
  return writer.text
}

class YamlWriter {
  text = ''
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** One line for each, and more for those that have parts; `lead` is what the first line begins with. */
  fields(
    all: Readonly<Record<string, unknown>>,
    indent: string,
    lead = indent,
    place?: string,
  ): void {
    let begin = lead
    let comment = place === undefined ? '' : ` # ${oneLine(place)}`
    for (const [name, value] of Object.entries(all)) {
      if (value === undefined) continue
      this.#value(`${begin}${formatScalar(name)}:`, value, indent, comment)
      begin = indent
      comment = ''
    }
  }

  #value(begin: string, value: unknown, indent: string, comment: string): void {
    if (typeof value !== 'object' || value === null)
      return this.#line(`${begin} ${formatScalar(value)}${comment}`)
    if (value instanceof PlacedFields) {
      this.#line(`${begin}${comment === '' ? '' : comment}`)
      return this.fields(value.fields, indent + STEP, indent + STEP, value.place)
    }
    if (isList(value)) return this.#list(begin, value, indent, comment)
    const fields = value as Readonly<Record<string, unknown>>
    if (Object.keys(fields).length === 0) return this.#line(`${begin} {}${comment}`)
    this.#line(begin + comment)
    this.fields(fields, indent + STEP)
  }

  #list(begin: string, items: Iterable<unknown>, indent: string, comment: string): void {
    let isEmpty = true
    for (const item of items) {
      if (isEmpty) this.#line(begin + comment)
      isEmpty = false
      this.#item(item, indent + STEP)
    }
    if (isEmpty) this.#line(`${begin} []${comment}`)
  }

  #item(item: unknown, indent: string): void {
    const inner = indent + STEP
    if (item instanceof PlacedFields)
      return this.fields(item.fields, inner, `${indent}- `, item.place)
    if (typeof item !== 'object' || item === null)
      return this.#line(`${indent}- ${formatScalar(item)}`)
    if (isList(item)) return this.#list(`${indent}-`, item, indent, '')
    const fields = item as Readonly<Record<string, unknown>>
    if (Object.keys(fields).length === 0) return this.#line(`${indent}- {}`)
    this.fields(fields, inner, `${indent}- `)
  }

  #line(line: string): void {
    if (this.text.length + line.length + 1 > this.#most) throw new YamlLimitReached()
    this.text += line + '\n'
  }
}

function isList(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value
}

function formatScalar(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const isPlain = PLAIN.test(value) ? !WORDS.test(value) : PLAIN_NUMBERS.test(value)
  return isPlain ? value : quoteText(value)
}

/** As it has less to escape: in single quotes, where all of it can be seen, or as JSON, which is YAML, too. */
function quoteText(text: string): string {
  const single = text.split("'").length
  if (single < text.split(/["\\]/).length && SEEN.test(text))
    return `'${text.replaceAll("'", "''")}'`
  return JSON.stringify(text).replace(
    UNSEEN,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')
}
