// Formats a checked configuration for dumps and the web UI: in config syntax and without secrets.

import { X509Certificate } from 'node:crypto'
import type { WireLimits } from '../core/bounds.ts'
import { Expression } from '../expressions/compile.ts'
import { Regex } from '../expressions/regex.ts'
import {
  isSecretGroup,
  isSecretHeader,
  isSecretParameter,
  isSecretSetting,
  redactBody,
  REDACTED,
  redactTexts,
  redactValue,
  sensitiveHeaderNames,
} from '../text/redaction.ts'
import type { SecretNames } from '../text/redaction.ts'
import { Secret } from '../text/secret.ts'
import type {
  AdminAddress,
  BackendConfig,
  Config,
  ListenerTls,
  ProcessConfig,
  RouteMatch,
} from './config-types.ts'
import { formatDuration } from './duration.ts'
import type { LimitConfig } from './policy-types.ts'

const DURATION_NAME = /(?:timeout|deadline|interval|ttl|backoff|leeway|maxAge|keepAlive)$/i

/** Fields with free-form values of the user. */
const FREE_FORM_FIELDS = new Set(['metadata', 'defaults', 'overrides', 'modelAliases'])

type UnknownFields = Readonly<Record<string, unknown>>

type SensitiveHeaders = Pick<SecretNames, 'headers'>

export class ConfigFormatter {
  readonly #sensitive: SensitiveHeaders

  constructor(sensitiveHeaders: readonly string[]) {
    // A trace shows cookies of backends; a cookie in the configuration may be shared by all clients.
    this.#sensitive = { headers: sensitiveHeaderNames(['set-cookie', ...sensitiveHeaders]) }
  }

  /** `name` is the field that contains the value. */
  format(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.#isSecret(name) ? REDACTED : formatText(value, name)
    if (typeof value === 'number') return formatNumber(value, name)
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Secret) return REDACTED
    if (value instanceof Regex) return value.source
    if (value instanceof Expression) return redactExpression(value.source, this.#sensitive)
    if (Array.isArray(value)) return this.#list(value, name)
    return this.#object(value as UnknownFields, name)
  }

  /** Formats free-form data, which has the form that the user wrote. */
  formatAsWritten(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.format(value, name)
    if (Array.isArray(value)) return value.map((item) => this.formatAsWritten(item, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        key,
        typeof part === 'object' && isSecretGroup(key)
          ? redactTexts(part)
          : this.formatAsWritten(part, key),
      ]),
    )
  }

  /** Fields that are not set are omitted. */
  formatFields(fields: UnknownFields): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => [name, this.format(value, name)]),
    )
  }

  /** The value of a limit key, redacted if its expression may read a credential. */
  formatKeyValue(expression: Expression, value: string): unknown {
    return this.keyValueFormatter(expression)(value)
  }

  /** A formatter for many values of one limit key. */
  keyValueFormatter({ source }: Expression): (value: string) => unknown {
    return mayYieldCredential(source, this.#sensitive)
      ? () => REDACTED
      : (value) => formatText(value, '')
  }

  #isSecret(name: string): boolean {
    return isSecretSetting(name, this.#sensitive)
  }

  /** The value of a header: text or an expression. */
  #headerValue(name: string, value: unknown): unknown {
    return this.#isSecret(name) ? REDACTED : this.format(value)
  }

  #list(items: readonly unknown[], name: string): unknown {
    const isEdit = name === 'add' || name === 'set'
    if ((isEdit || name === 'headers') && (isEdit || items.length > 0)) {
      const pairs = items.map((item) => headerPairOf(item, isEdit))
      if (pairs.every((pair) => pair !== null))
        return Object.fromEntries(pairs.map(([key, value]) => [key, this.#headerValue(key, value)]))
    }
    if (name === 'targets') return items.map((item) => this.#target(item))
    if (name === 'args') return redactArguments(items.map(String))
    return items.map((item) => this.format(item, name))
  }

  #object(fields: UnknownFields, name: string): unknown {
    // Environment variables of child processes are mostly credentials.
    if (name === 'env') return Object.fromEntries(Object.keys(fields).map((key) => [key, REDACTED]))
    if (FREE_FORM_FIELDS.has(name)) return this.formatAsWritten(fields)
    // A public key is shown by its key id.
    if (name === 'keys' && typeof fields['kid'] === 'string') return fields['kid']
    if (typeof fields['kind'] === 'string') return this.#choice(fields['kind'], fields)
    if (typeof fields['name'] === 'string' && 'value' in fields) return this.#named(fields, name)
    return this.formatFields(fields)
  }

  /** A tagged union becomes an object with the kind as field name, as in the config file. */
  #choice(kind: string, { kind: _kind, ...rest }: UnknownFields): unknown {
    if (kind === 'tcp' || kind === 'unix') return formatAddress({ kind, ...rest })
    const { regex: _regex, ...fields } = rest
    const names = Object.keys(fields)
    if (names.length === 1 && names[0] === 'value') return { [kind]: this.format(fields['value']) }
    return kind in fields ? this.formatFields(fields) : { [kind]: this.formatFields(fields) }
  }

  /** A match on a header or query parameter: its value may be a shared secret. */
  #named({ name, value }: UnknownFields, list: string): unknown {
    const shown = this.format(value)
    const isSecret = list === 'query' ? isSecretParameter : this.#isSecret.bind(this)
    if (!isSecret(String(name))) return { name, value: shown }
    if (typeof shown !== 'object' || shown === null) return { name, value: REDACTED }
    return { name, value: Object.fromEntries(Object.keys(shown).map((kind) => [kind, REDACTED])) }
  }

  /** An MCP target: its name is a field next to its kind. */
  #target(item: unknown): unknown {
    if (typeof item !== 'object' || item === null || !('kind' in item) || !('name' in item))
      return this.format(item)
    const { name, ...rest } = item as UnknownFields
    const { path } = rest
    const shown = typeof path === 'string' ? { ...rest, path: redactQueryValues(path) } : rest
    return { name, ...(this.format(shown) as UnknownFields) }
  }
}

/** Name and value of a header, which is a pair or, for a computed header, an object. */
function headerPairOf(item: unknown, isEdit: boolean): [string, unknown] | null {
  if (Array.isArray(item)) return [String(item[0]), item[1]]
  if (!isEdit || typeof item !== 'object' || item === null) return null
  const { name, value } = item as UnknownFields
  return [String(name), value]
}

/** `host:port` or `unix:/path`; a host with colons gets brackets. */
export function formatAddress(address: UnknownFields): string {
  const { kind, host, port, path } = address
  if (kind === 'unix') return `unix:${String(path)}`
  const name = String(host ?? kind)
  return `${name.includes(':') ? `[${name}]` : name}:${String(port)}`
}

/** Redacts all query values of an MCP target: any parameter of a remote server may be a credential. */
function redactQueryValues(path: string): string {
  const [pathname, ...query] = path.split('?')
  if (query.length === 0) return path
  const parameters = query.join('?').split('&')
  const shown = parameters.map((text) => (/^[^=]{1,128}=/.exec(text)?.[0] ?? '') + REDACTED)
  return `${pathname}?${shown.join('&')}`
}

function formatText(text: string, name: string): unknown {
  if (text.includes('-----BEGIN ')) return describeCertificate(text)
  if (name === 'body') return redactBody(Buffer.from(text)).toString()
  // Any query parameter of a key set URL may be a credential.
  return redactValue(name === 'url' ? text.replace(/\?.*/s, `?${REDACTED}`) : text)
}

/** MAX_SAFE_INTEGER means unlimited and is shown as null. */
function formatNumber(value: number, name: string): unknown {
  if (value === Number.MAX_SAFE_INTEGER) return null
  return DURATION_NAME.test(name) ? formatDuration(value) : value
}

/** Identifies a certificate without its PEM text, because the same file may contain the private key. */
function describeCertificate(text: string): unknown {
  try {
    const { subject, validTo, fingerprint256 } = new X509Certificate(text)
    return { subject, validTo, fingerprint256 }
  } catch {
    return REDACTED
  }
}

/** Addresses of the admin, statistics and readiness servers; the environment may override the config file. */
export type AdminAddresses = Pick<ProcessConfig, 'admin' | 'stats' | 'readiness'>

type ShownFields = Record<string, unknown>

/** Formats the parts of a configuration with the field names of the config file. */
export class ConfigPartFormatter {
  readonly formatter: ConfigFormatter

  constructor({ process: { sensitiveHeaders } }: Config) {
    this.formatter = new ConfigFormatter(sensitiveHeaders)
  }

  formatTls(tls: ListenerTls): ShownFields {
    return this.formatter.formatFields({ ...tls })
  }

  formatMatch({ path, method, headers, query }: RouteMatch): ShownFields {
    return {
      path: { [path.kind === 'prefix' ? 'pathPrefix' : path.kind]: path.value },
      ...(method !== '' && { method }),
      headers: this.formatter.format(headers),
      query: this.formatter.format(query, 'query'),
    }
  }

  /** The target of a backend of any kind. */
  formatTarget(backend: BackendConfig): unknown {
    const { kind: _kind, key: _key, weight: _weight, policies: _policies, ...rest } = backend
    return this.formatter.format(Object.values(rest)[0])
  }

  /** Policies by name; those that are not set are omitted. */
  formatPolicies(policies: object): ShownFields {
    return this.formatter.formatFields({ ...policies })
  }

  formatLimits(limits: readonly LimitConfig[]): ShownFields[] {
    return limits.map(({ name, counts, amount, most, interval, key }) =>
      this.formatter.formatFields({ name, [counts]: amount, burst: most - amount, interval, key }),
    )
  }

  /** The section `config`. */
  formatProcess(config: Config, { admin, stats, readiness }: AdminAddresses): ShownFields {
    const { workers, terminationDeadline, logging, sensitiveHeaders } = config.process
    const { maxTracedBytes, maxWatchers, redactBodies } = config.process
    const { maxBytesInFlight, maxKeys, maxReaders } = config.process
    const { backend, mcp, llm } = config
    return this.formatter.formatFields({
      file: config.file,
      workers,
      adminAddr: formatAdminAddress(admin),
      statsAddr: formatAdminAddress(stats),
      readinessAddr: formatAdminAddress(readiness),
      logging,
      sensitiveHeaders,
      trace: { maxBodyBytes: maxTracedBytes, maxWatchers, redactBodies },
      maxBytesInFlight,
      rateLimit: { maxKeys },
      ui: { maxReaders },
      connectionTerminationDeadline: terminationDeadline,
      backend,
      mcp,
      llm,
    })
  }

  /** The section `frontendPolicies`. */
  formatFrontend(wire: WireLimits): unknown {
    const { maxHeaders, keepAliveTimeout, maxStreams, handshakeTimeout, ...http } = wire
    return this.formatter.format({
      http: {
        ...http,
        http1MaxHeaders: maxHeaders,
        http1IdleTimeout: keepAliveTimeout,
        http2MaxStreams: maxStreams,
      },
      tls: { handshakeTimeout },
    })
  }
}

function formatAdminAddress(address: AdminAddress): string {
  return address.kind === 'off' ? 'off' : formatAddress({ ...address })
}

/** A CEL string literal, with one or three quotes. */
const LITERAL =
  /\br"""[^]*?"""|\br'''[^]*?'''|\br"[^"\n]*"|\br'[^'\n]*'|"""(?:[^"\\]|\\[^]|"(?!""))*"""|'''(?:[^'\\]|\\[^]|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gi

/** Names that an expression reads, except `apiKey`: its fields are metadata, not the key. */
const NAMES = /(?<![\w-])(?!apiKey(?![\w-]))[\w-]+/g

/** A computed header name, which may be any header. */
const COMPUTED_HEADER = /headers\s*\[(?!\s*r?(?:"[^"]*"|'[^']*')\s*\])/

/** A member name after a dot. */
const MEMBER = /\.\s*([a-z_]\w*)/gi
/** A read of the API key itself. */
const API_KEY_VALUE = /\bapiKey\s*(?:\.\s*key\b|\[\s*["']key["']\s*\])/

/** The text before and after a literal that is an index, such as `headers["x"]`. */
const BEFORE_INDEX = /(?:(?!\bin\b)\b\w+|[)\]])\s*\[\s*$/
const AFTER_INDEX = /^\s*\]/

/** Redacts the literals of an expression that reads a credential, because it may compare with the credential. */
export function redactExpression(source: string, names: SensitiveHeaders): string {
  const hidesAll = readsCredential(source, names)
  return source.replace(LITERAL, (literal: string, at: number) => {
    if (isIndex(source, at, literal.length)) return literal
    const mark = /^r?("""|'''|"|')/i.exec(literal)!
    const text = literal.slice(mark[0].length, literal.length - mark[1]!.length)
    if (text === '' || names.headers.has(text.toLowerCase())) return literal
    return mark[0] + (hidesAll ? REDACTED : redactValue(text)) + mark[1]
  })
}

/** Whether the value of an expression may be a credential or a part of one. */
function mayYieldCredential(source: string, names: SensitiveHeaders): boolean {
  const read = source.match(NAMES) ?? []
  return COMPUTED_HEADER.test(source) || read.some((name) => isSecretSetting(name, names))
}

function readsCredential(source: string, names: SensitiveHeaders): boolean {
  if (COMPUTED_HEADER.test(source) || API_KEY_VALUE.test(source)) return true
  const withoutLiterals = source.replace(LITERAL, '""')
  if ([...withoutLiterals.matchAll(MEMBER)].some(([, name]) => isSecretHeaderName(name!, names)))
    return true
  return [...source.matchAll(LITERAL)].some(({ 0: literal, index }) => {
    const text = literal.replace(/^r?["']+|["']+$/g, '')
    if (names.headers.has(text.toLowerCase())) return true
    return isIndex(source, index, literal.length) && isSecretHeaderName(text, names)
  })
}

function isSecretHeaderName(name: string, names: SensitiveHeaders): boolean {
  return isSecretHeader(name.toLowerCase(), names)
}

function isIndex(source: string, at: number, length: number): boolean {
  const before = source.slice(Math.max(0, at - 80), at)
  return BEFORE_INDEX.test(before) && AFTER_INDEX.test(source.slice(at + length, at + length + 80))
}

// Arguments of child processes: flags and names of programs, packages and files are shown; any other argument may be
// a credential.

/** A flag without a value: `-y`, `--name`. */
const FLAG = /^(?:-[a-z]{1,3}|--[a-z][\w.-]{0,39}|--)$/i
const FLAG_WITH_VALUE = /^(--?[a-z][\w.-]{0,39})=/i

/** Flags that take no value; the argument after any other flag is its value. */
const WITHOUT_VALUE = new Set([
  ...['-y', '--yes', '-q', '--quiet', '--offline', '--prefer-offline', '--package', '--from'],
  ...['-i', '-t', '-it', '--interactive', '--rm', '--init', '-jar', '-m', '--module'],
  ...['--directory', '--'],
])

/** A plain word, a package with its version, or a path. */
const PLAIN_NAME = /^(?!-)(?:[@.~]?\/|@|\.{1,2}\/|)[\w./@:+-]{1,200}$/
/** Parts of plain names: letters followed by a few digits. Credentials are longer or mix them. */
const PART = /^[a-z]{0,24}\d{0,4}$/
const PART_OF_PATH = /^[a-z]{0,24}\d{0,4}$/i

/** The colon of `name:password`; a version after the colon is not a password. */
const PASSWORD_COLON = /:(?!v?\d|latest$)/
const ORIGIN = /^[a-z]{1,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?\/?$/i

/** The origin of a URL; the text after the host may be a credential. */
const URL_ORIGIN = /^([a-z][a-z+.-]{0,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?)(?:[/?#]|$)/i

function redactArguments(args: readonly string[]): string[] {
  return args.map((text, at) => redactArgument(text, args[at - 1]))
}

/** The arguments that are redacted at least partly. */
export function findHiddenArguments(args: readonly string[]): string[] {
  const shown = redactArguments(args)
  return args.filter((text, at) => text !== shown[at])
}

/** Whether a text consists of words, as names and paths do, and so is not a credential. */
export function isPlainName(text: string): boolean {
  if (text.includes('://')) return ORIGIN.test(text)
  if (!PLAIN_NAME.test(text) || PASSWORD_COLON.test(text)) return false
  const part = /^[.~]{0,2}\//.test(text) ? PART_OF_PATH : PART
  return text.split(/[^a-z\d]/i).every((piece) => part.test(piece))
}

function redactArgument(text: string, previous: string | undefined): string {
  if (FLAG.test(text)) return text
  const flag = FLAG_WITH_VALUE.exec(text)
  if (flag !== null) return `${flag[1]}=${REDACTED}`
  if (previous !== undefined && FLAG.test(previous) && !WITHOUT_VALUE.has(previous)) return REDACTED
  if (isPlainName(text)) return text
  // A URL with a user name is hidden, because a password may contain any character.
  const url = text.includes('@') ? null : URL_ORIGIN.exec(text)
  return url === null ? REDACTED : `${url[1]}/${REDACTED}`
}
