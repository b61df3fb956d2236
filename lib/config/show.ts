// How the values of a checked configuration are shown: the way users write them, and without secrets.

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

/** Values of the users' own. */
const AS_WRITTEN = new Set(['metadata', 'defaults', 'overrides', 'modelAliases'])

type UnknownFields = Readonly<Record<string, unknown>>

export class ConfigFormatter {
  readonly #hidden: Pick<SecretNames, 'headers'>

  constructor(sensitiveHeaders: readonly string[]) {
    this.#hidden = { headers: sensitiveHeaderNames(sensitiveHeaders) }
  }

  /** `name` is that of the field it stands in. */
  format(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.#isSecret(name) ? REDACTED : formatText(value, name)
    if (typeof value === 'number') return formatNumber(value, name)
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Secret) return REDACTED
    if (value instanceof Regex) return value.source
    if (value instanceof Expression) return redactExpression(value.source, this.#hidden)
    if (Array.isArray(value)) return this.#list(value, name)
    return this.#object(value as UnknownFields, name)
  }

  /** What users wrote and nobody changed. */
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

  /** What is not set is left out. */
  formatFields(fields: UnknownFields): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => [name, this.format(value, name)]),
    )
  }

  /** What an expression came to, unless it reads something that is not to be shown. */
  formatKeyValue(expression: Expression, value: string): unknown {
    return this.keyValueFormatter(expression)(value)
  }

  /** The same for many values. */
  keyValueFormatter({ source }: Expression): (value: string) => unknown {
    return mayYieldCredential(source, this.#hidden)
      ? () => REDACTED
      : (value) => formatText(value, '')
  }

  #isSecret(name: string): boolean {
    return isSecretSetting(name, this.#hidden)
  }

  /** Of a header: a text, or what computes one. */
  #value(name: string, value: unknown): unknown {
    return this.#isSecret(name) ? REDACTED : this.format(value)
  }

  #list(items: readonly unknown[], name: string): unknown {
    const isEdit = name === 'add' || name === 'set'
    if ((isEdit || name === 'headers') && (isEdit || items.length > 0)) {
      const pairs = items.map((item) => headerPairOf(item, isEdit))
      if (pairs.every((pair) => pair !== null))
        return Object.fromEntries(pairs.map(([key, value]) => [key, this.#value(key, value)]))
    }
    if (name === 'targets') return items.map((item) => this.#target(item))
    if (name === 'args') return redactArguments(items.map(String))
    return items.map((item) => this.format(item, name))
  }

  #object(fields: UnknownFields, name: string): unknown {
    // Credentials of the programs it starts, mostly.
    if (name === 'env') return Object.fromEntries(Object.keys(fields).map((key) => [key, REDACTED]))
    if (AS_WRITTEN.has(name)) return this.formatAsWritten(fields)
    // A public key is known by its name.
    if (name === 'keys' && typeof fields['kid'] === 'string') return fields['kid']
    if (typeof fields['kind'] === 'string') return this.#choice(fields['kind'], fields)
    if (typeof fields['name'] === 'string' && 'value' in fields) return this.#named(fields, name)
    return this.formatFields(fields)
  }

  /** One of several forms, which users tell by the name of a field. */
  #choice(kind: string, { kind: _kind, ...rest }: UnknownFields): unknown {
    if (kind === 'tcp' || kind === 'unix') return formatAddress({ kind, ...rest })
    const { regex: _regex, ...written } = rest
    const names = Object.keys(written)
    if (names.length === 1 && names[0] === 'value') return { [kind]: this.format(written['value']) }
    return kind in written ? this.formatFields(written) : { [kind]: this.formatFields(written) }
  }

  /** A condition on a header or a parameter: its value may be what a client has to know. */
  #named({ name, value }: UnknownFields, place: string): unknown {
    const shown = this.format(value)
    const isSecret = place === 'query' ? isSecretParameter : this.#isSecret.bind(this)
    if (!isSecret(String(name))) return { name, value: shown }
    if (typeof shown !== 'object' || shown === null) return { name, value: REDACTED }
    return { name, value: Object.fromEntries(Object.keys(shown).map((kind) => [kind, REDACTED])) }
  }

  /** Its name stands beside its kind. */
  #target(item: unknown): unknown {
    if (typeof item !== 'object' || item === null || !('kind' in item) || !('name' in item))
      return this.format(item)
    const { name, ...rest } = item as UnknownFields
    const { path } = rest
    const shown = typeof path === 'string' ? { ...rest, path: redactQueryValues(path) } : rest
    return { name, ...(this.format(shown) as UnknownFields) }
  }
}

/** A header and its value, as a pair or, where it is computed, by names. */
function headerPairOf(item: unknown, isEdit: boolean): [string, unknown] | null {
  if (Array.isArray(item)) return [String(item[0]), item[1]]
  if (!isEdit || typeof item !== 'object' || item === null) return null
  const { name, value } = item as UnknownFields
  return [String(name), value]
}

/** As in the file; a name or address with colons is in brackets. */
export function formatAddress(address: UnknownFields): string {
  const { kind, host, port, path } = address
  if (kind === 'unix') return `unix:${String(path)}`
  const name = String(host ?? kind)
  return `${name.includes(':') ? `[${name}]` : name}:${String(port)}`
}

/** Of a server of somebody else's: which parameter is the credential only that one knows. */
function redactQueryValues(path: string): string {
  const [before, ...query] = path.split('?')
  if (query.length === 0) return path
  const parameters = query.join('?').split('&')
  const shown = parameters.map((text) => (/^[^=]{1,128}=/.exec(text)?.[0] ?? '') + REDACTED)
  return `${before}?${shown.join('&')}`
}

function formatText(text: string, name: string): unknown {
  if (text.includes('-----BEGIN ')) return describeCertificate(text)
  // Of keys to check tokens by: who may fetch them may be told by a parameter of any name.
  if (name === 'body') return redactBody(Buffer.from(text)).toString()
  return redactValue(name === 'url' ? text.replace(/\?.*/s, `?${REDACTED}`) : text)
}

/** No bound is no number. */
function formatNumber(value: number, name: string): unknown {
  if (value === Number.MAX_SAFE_INTEGER) return null
  return DURATION_NAME.test(name) ? formatDuration(value) : value
}

/** Which certificate it is, rather than all of it: a key may stand in the same file. */
function describeCertificate(text: string): unknown {
  try {
    const { subject, validTo, fingerprint256 } = new X509Certificate(text)
    return { subject, validTo, fingerprint256 }
  } catch {
    return REDACTED
  }
}

// The parts of a checked configuration as they are shown, wherever that is: by the names users write, and without secrets.

/** Where the interfaces beside the traffic are: the environment may say something else than the file. */
export type AdminAddresses = Pick<ProcessConfig, 'admin' | 'stats' | 'readiness'>

type ShownFields = Record<string, unknown>

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

  /** Where it leads to, whatever it is. */
  formatTarget(backend: BackendConfig): unknown {
    const { kind: _kind, key: _key, weight: _weight, policies: _policies, ...rest } = backend
    return this.formatter.format(Object.values(rest)[0])
  }

  /** By kind; what is not set is left out. */
  formatPolicies(policies: object): ShownFields {
    return this.formatter.formatFields({ ...policies })
  }

  formatLimits(limits: readonly LimitConfig[]): ShownFields[] {
    return limits.map(({ name, counts, amount, most, interval, key }) =>
      this.formatter.formatFields({ name, [counts]: amount, burst: most - amount, interval, key }),
    )
  }

  /** `config`, by the names of the file. */
  formatProcess(config: Config, { admin, stats, readiness }: AdminAddresses): ShownFields {
    const { workers, terminationDeadline, logging, sensitiveHeaders } = config.process
    const { maxTracedBytes, maxWatchers, maxBytesInFlight, maxKeys, maxReaders } = config.process
    const { backend, mcp, llm } = config
    return this.formatter.formatFields({
      file: config.file,
      workers,
      adminAddr: formatAdminAddress(admin),
      statsAddr: formatAdminAddress(stats),
      readinessAddr: formatAdminAddress(readiness),
      logging,
      sensitiveHeaders,
      trace: { maxBodyBytes: maxTracedBytes, maxWatchers },
      maxBytesInFlight,
      rateLimit: { maxKeys },
      ui: { maxReaders },
      connectionTerminationDeadline: terminationDeadline,
      backend,
      mcp,
      llm,
    })
  }

  /** `frontendPolicies` */
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

// The text of an expression as it is shown: what one compares a credential with is one, too.

type SensitiveHeaders = Pick<SecretNames, 'headers'>

/** A text in quotes: of three, or of one that ends on its line. */
const LITERAL =
  /\br"""[^]*?"""|\br'''[^]*?'''|\br"[^"\n]*"|\br'[^'\n]*'|"""(?:[^"\\]|\\[^]|"(?!""))*"""|'''(?:[^'\\]|\\[^]|'(?!''))*'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gi

/** Names an expression reads; what is known about an API key is not the key. */
const WORDS = /(?<![\w-])(?!apiKey(?![\w-]))[\w-]+/g

/** A header whose name is not written out may be any. */
const COMPUTED = /headers\s*\[(?!\s*r?(?:"[^"]*"|'[^']*')\s*\])/

/** The name of a member, behind its dot; and that the API key itself is read. */
const MEMBER = /\.\s*([a-z_]\w*)/gi
const OWN_KEY = /\bapiKey\s*(?:\.\s*key\b|\[\s*["']key["']\s*\])/

/** What stands before and behind a text that names a member. */
const BEFORE_INDEX = /(?:(?!\bin\b)\b\w+|[)\]])\s*\[\s*$/
const BEHIND_INDEX = /^\s*\]/

/** Without texts where it reads a credential, but for names of members. */
export function redactExpression(source: string, names: SensitiveHeaders): string {
  const isHidden = readsCredential(source, names)
  return source.replace(LITERAL, (literal: string, at: number) => {
    if (isIndex(source, at, literal.length)) return literal
    const mark = /^r?("""|'''|"|')/i.exec(literal)!
    const text = literal.slice(mark[0].length, literal.length - mark[1]!.length)
    if (text === '' || names.headers.has(text.toLowerCase())) return literal
    return mark[0] + (isHidden ? REDACTED : redactValue(text)) + mark[1]
  })
}

/** Whether its value may be a credential, or part of one. */
function mayYieldCredential(source: string, names: SensitiveHeaders): boolean {
  const words = source.match(WORDS) ?? []
  return COMPUTED.test(source) || words.some((word) => isSecretSetting(word, names))
}

function readsCredential(source: string, names: SensitiveHeaders): boolean {
  if (COMPUTED.test(source) || OWN_KEY.test(source)) return true
  const bare = source.replace(LITERAL, '""')
  if ([...bare.matchAll(MEMBER)].some(([, name]) => isSecretHeaderName(name!, names))) return true
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
  return BEFORE_INDEX.test(before) && BEHIND_INDEX.test(source.slice(at + length, at + length + 80))
}

// Which arguments of a program are shown: flags, and words that name a program, a package or a file. Any other may be
// a credential, whatever stands before it.

/** `-y`, `--name`: without a value. */
const FLAG = /^(?:-[a-z]{1,3}|--[a-z][\w.-]{0,39}|--)$/i
const FLAG_WITH_VALUE = /^(--?[a-z][\w.-]{0,39})=/i

/** What stands behind any other flag is its value. */
const WITHOUT_VALUE = new Set([
  ...['-y', '--yes', '-q', '--quiet', '--offline', '--prefer-offline', '--package', '--from'],
  ...['-i', '-t', '-it', '--interactive', '--rm', '--init', '-jar', '-m', '--module'],
  ...['--directory', '--'],
])

/** A word, a package with its version, a path. */
const NAME = /^(?!-)(?:[@.~]?\/|@|\.{1,2}\/|)[\w./@:+-]{1,200}$/
/** What those are made of: letters, and some digits behind them. Credentials are longer, or mix them. */
const PART = /^[a-z]{0,24}\d{0,4}$/
const PART_OF_PATH = /^[a-z]{0,24}\d{0,4}$/i

/** `name:password`; a version is no password. */
const PAIR = /:(?!v?\d|latest$)/
const ORIGIN = /^[a-z]{1,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?\/?$/i

/** Where a program is told to go; what is behind the host may be a credential. */
const URL_OF = /^([a-z][a-z+.-]{0,20}:\/\/[a-z\d.-]{1,253}(?::\d{1,5})?)(?:[/?#]|$)/i

function redactArguments(args: readonly string[]): string[] {
  return args.map((text, at) => redactArgument(text, args[at - 1]))
}

/** Those that are not shown whole. */
export function findHiddenArguments(args: readonly string[]): string[] {
  const all = redactArguments(args)
  return args.filter((text, at) => text !== all[at])
}

/** Whether it is made of words, as names and paths are. */
export function isPlainName(text: string): boolean {
  if (text.includes('://')) return ORIGIN.test(text)
  if (!NAME.test(text) || PAIR.test(text)) return false
  const part = /^[.~]{0,2}\//.test(text) ? PART_OF_PATH : PART
  return text.split(/[^a-z\d]/i).every((piece) => part.test(piece))
}

function redactArgument(text: string, before: string | undefined): string {
  if (FLAG.test(text)) return text
  const flag = FLAG_WITH_VALUE.exec(text)
  if (flag !== null) return `${flag[1]}=${REDACTED}`
  if (before !== undefined && FLAG.test(before) && !WITHOUT_VALUE.has(before)) return REDACTED
  if (isPlainName(text)) return text
  // A name or a password may have any sign in it.
  const url = text.includes('@') ? null : URL_OF.exec(text)
  return url === null ? REDACTED : `${url[1]}/${REDACTED}`
}
