// /api/config: the configuration in force as YAML with the file position of each part, the state of policy resources, and
// the last refused reload.

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

/** The rest is cut. */
const MAX_YAML_CHARS = 1_048_576
/** Maximum of files, of warnings and of resources. */
const MAX_LISTED = 500

/** The formatted configuration, and why the last reload was refused. */
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
  const format = (lines: readonly string[]): string[] =>
    lines.slice(0, MAX_LISTED).map((line) => String(parts.formatter.format(line)))
  return {
    generation,
    loadedAt: loadedAt.getTime(),
    file: config.file,
    files: config.files.slice(0, MAX_LISTED),
    yaml,
    warnings: format(config.warnings),
    resources: config.resources
      .slice(0, MAX_LISTED)
      .map((resource) => resourceStateOf(resource, format)),
    refusal: refusal && { at: refusal.at.getTime(), problems: format(refusal.problems) },
  }
}

function resourceStateOf(
  resource: PolicyResource,
  format: (lines: readonly string[]) => string[],
): ResourceState {
  const { place, status } = resource
  const conditions = status.ancestors.flatMap(({ ancestorRef: ref, conditions: all }) =>
    all.map(({ type, status: conditionStatus, reason, message }) => ({
      target: ref === null ? '' : `${ref.kind} ${ref.name}`,
      type,
      status: conditionStatus,
      reason,
      message: format([message]).join(),
    })),
  )
  return { name: resourceNameOf(resource), place, conditions }
}

export function formatConfigYaml(
  config: Config,
  addresses: AdminAddresses,
  maxLength = MAX_YAML_CHARS,
): string {
  return new ConfigYamlWriter(config).text(addresses, maxLength)
}

class ConfigYamlWriter {
  readonly #config: Config
  readonly #parts: ConfigPartFormatter

  constructor(config: Config) {
    this.#config = config
    this.#parts = new ConfigPartFormatter(config)
  }

  /** Lists are generated while they are written, so that a part beyond the limit costs nothing. */
  text(addresses: AdminAddresses, maxLength: number): string {
    const { gateways, wire, ui, resources } = this.#config
    const whole = {
      config: this.#parts.formatProcess(this.#config, addresses),
      frontendPolicies: this.#parts.formatFrontend(wire),
      gateways: mapLazily(gateways, (gateway) => this.#gateway(gateway)),
      ui: ui === null ? undefined : this.#ui(ui),
      policies:
        resources.length === 0 ? undefined : this.#parts.formatter.formatAsWritten(resources),
    }
    return formatYaml(whole, maxLength)
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

  /** The column is left out: file and line are enough. */
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

/** A map with a comment on its first line: the file position of that part of the configuration. */
export class PlacedFields {
  readonly fields: Readonly<Record<string, unknown>>
  readonly place: string | undefined

  constructor(fields: Readonly<Record<string, unknown>>, place: string | undefined) {
    this.fields = fields
    this.place = place
  }
}

/** Strings that need no quotes: no syntax of YAML, no number, no keyword. */
const PLAIN = /^[A-Za-z_/][\w/.@*+-]*(?:[:= ][\w/.@*+-]+)*$/
const PLAIN_NUMBERS = /^(?:\d+(?:ms|s|m|h)|\d+\.\d+\.\d+\.\d+(?::\d+)?)$/
const KEYWORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i
/** Invisible characters, and characters that may count as a line break. */
const INVISIBLE = /[\x7f-\x9f\u2028\u2029\ufeff]/g

/** Strings that single quotes can hold. */
const VISIBLE = /^[^\p{Cc}\p{Cs}\u2028\u2029\ufeff]*$/u

const INDENT = '  '

class YamlLimitReached extends Error {}

/**
 * Formats plain data as YAML, cut at `maxLength` characters with a comment; lists may be lazy. For a megabyte the package
 * `yaml` would block requests for a quarter of a second, ten times as long as this.
 */
export function formatYaml(data: Readonly<Record<string, unknown>>, maxLength: number): string {
  const writer = new YamlWriter(maxLength)
  try {
    writer.fields(data, '')
  } catch (error) {
    if (!(error instanceof YamlLimitReached)) throw error
    return `${writer.text}# cut here: the text is longer than ${maxLength} characters\n`
  }
  return writer.text
}

class YamlWriter {
  text = ''
  readonly #maxLength: number

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  /** Writes each field with its nested values; the first line begins with `lead`. */
  fields(
    all: Readonly<Record<string, unknown>>,
    indent: string,
    lead = indent,
    place?: string,
  ): void {
    let begin = lead
    let comment = place === undefined ? '' : ` # ${toOneLine(place)}`
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
      return this.fields(value.fields, indent + INDENT, indent + INDENT, value.place)
    }
    if (isList(value)) return this.#list(begin, value, indent, comment)
    const fields = value as Readonly<Record<string, unknown>>
    if (Object.keys(fields).length === 0) return this.#line(`${begin} {}${comment}`)
    this.#line(begin + comment)
    this.fields(fields, indent + INDENT)
  }

  #list(begin: string, items: Iterable<unknown>, indent: string, comment: string): void {
    let isEmpty = true
    for (const item of items) {
      if (isEmpty) this.#line(begin + comment)
      isEmpty = false
      this.#item(item, indent + INDENT)
    }
    if (isEmpty) this.#line(`${begin} []${comment}`)
  }

  #item(item: unknown, indent: string): void {
    const inner = indent + INDENT
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
    if (this.text.length + line.length + 1 > this.#maxLength) throw new YamlLimitReached()
    this.text += line + '\n'
  }
}

function isList(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value
}

function formatScalar(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const isPlain = PLAIN.test(value) ? !KEYWORDS.test(value) : PLAIN_NUMBERS.test(value)
  return isPlain ? value : quoteText(value)
}

/** Uses the quotes that need fewer escapes: single quotes, if all characters are visible, or JSON, which is valid YAML. */
function quoteText(text: string): string {
  const single = text.split("'").length
  if (single < text.split(/["\\]/).length && VISIBLE.test(text))
    return `'${text.replaceAll("'", "''")}'`
  return JSON.stringify(text).replace(
    INVISIBLE,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function toOneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')
}
