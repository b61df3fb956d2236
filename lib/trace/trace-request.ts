// What is known about an exchange just now, as a snapshot shows it: the names that rules read, without credentials.

import type { Config } from '../config/config-types.ts'
import { ConfigFormatter } from '../config/show.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Claims, LlmFacts } from '../core/facts.ts'
import type { HeaderFields } from '../core/head.ts'
import type { SentRequest } from '../core/trace-events.ts'
import { EnvView } from '../expressions/exchange-view.ts'
import { celToJson } from '../expressions/json-values.ts'
import {
  isSecretGroup,
  isSecretHeader,
  isSecretSetting,
  REDACTED,
  redactTarget,
  redactTexts,
  redactValue,
  sensitiveHeaderNames,
} from '../text/redaction.ts'
import type { SecretNames } from '../text/redaction.ts'

type StateFields = Record<string, unknown>

export function describeRequestState(
  exchange: Exchange,
  hidden: RedactionCache,
  sent: SentRequest = {},
): StateFields {
  const {
    source,
    facts,
    choice: { backend },
  } = exchange
  return {
    request: describeRequest(exchange, hidden, sent),
    source: { address: source.address, port: source.port },
    env: envState(new EnvView()),
    ...(facts?.jwt !== undefined && { jwt: redactClaims(facts.jwt, hidden) }),
    ...(facts?.apiKey !== undefined && {
      apiKey: { key: REDACTED, ...redactClaims(facts.apiKey, hidden) },
    }),
    ...(facts?.basicAuth !== undefined && { basicAuth: facts.basicAuth }),
    ...(facts?.mcp !== undefined && { mcp: mcpState(facts.mcp) }),
    ...(facts?.llm !== undefined && { llm: llmState(facts.llm) }),
    ...(backend !== null && { backend }),
    ...proxyState(exchange),
  }
}

/** As it is now: a rewrite shows in the next snapshot. */
function describeRequest(
  { request: given, source, startedAt }: Exchange,
  hidden: RedactionCache,
  sent: SentRequest,
) {
  const request = sent.request ?? given
  const authority = sent.host ?? request.authority
  const scheme = source.secure ? 'https' : 'http'
  const target = hidden.redactTarget(request.target)
  const headers = redactHeaders(request, hidden)
  return {
    method: request.method,
    uri: `${scheme}://${authority}${target}`,
    path: request.path,
    pathAndQuery: target,
    // Without the port, as rules read it.
    host: authority.replace(/:\d*$/, ''),
    scheme,
    version: request.version,
    headers: sent.host == null ? headers : { ...headers, host: sent.host },
    startTime: new Date(performance.timeOrigin + startedAt).toISOString(),
  }
}

/** A text, or a list where a name occurs several times. */
export function redactHeaders(fields: HeaderFields, hidden: RedactionCache): StateFields {
  const shown = new Map<string, string[]>()
  for (const [name, value] of fields.entries()) {
    const values = shown.get(name) ?? []
    values.push(isSecretHeader(name, hidden) ? REDACTED : hidden.redactValue(value))
    shown.set(name, values)
  }
  return Object.fromEntries(
    [...shown].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}

/** Integers of claims are exact, which only their own writer keeps. Names are those of users, and may tell of a secret. */
function redactClaims(claims: Claims, hidden: SecretNames): StateFields {
  return JSON.parse(celToJson(claims), (name, value: unknown) =>
    isSecretSetting(name, hidden) || isSecretGroup(name) ? redactTexts(value) : value,
  ) as StateFields
}

/** As expressions see it. */
function llmState({ operation: _operation, ending: _ending, ...seen }: LlmFacts): StateFields {
  return seen
}

/** Whoever has a session's id can use it. */
function mcpState(mcp: { sessionId?: string | undefined }): StateFields {
  return {
    ...mcp,
    ...(mcp.sessionId !== undefined && { sessionId: `${mcp.sessionId.slice(0, 8)}…` }),
  }
}

/** What is not set is left out when it is written. */
function envState({ podName, namespace, gateway }: EnvView): StateFields {
  return { podName, namespace, gateway }
}

/** Keys are `gateway/<gateway>[/<listener>]` and `<listener key>/<namespace>/<route>`. */
function proxyState({ choice: { listenerKey: listener, routeKey: route } }: Exchange): StateFields {
  if (listener === '') return {}
  const [, gateway = '', name] = listener.split('/')
  const isOwn = route.startsWith(`${listener}/`)
  const [namespace, ...rest] = route.slice(listener.length + 1).split('/')
  return {
    proxy: {
      gateway: { namespace: 'default', name: gateway },
      ...(name !== undefined && { listener: { name } }),
      ...(isOwn && { route: { namespace, name: rest.join('/'), kind: 'HTTPRoute' } }),
    },
  }
}

// What of a request's texts is shown. A trace looks at the same ones at every step: long ones are read only once.

/** Shorter ones are read faster than kept. */
const MIN_KEPT_LENGTH = 128

/** Texts that are kept; what comes above that is read each time. */
const MAX_KEPT = 256

export class RedactionCache implements SecretNames {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
  readonly #targets = new Map<string, string>()
  readonly #values = new Map<string, string>()

  constructor({ headers, parameters }: SecretNames) {
    this.headers = headers
    this.parameters = parameters
  }

  /** A path and query. */
  redactTarget(text: string): string {
    return this.#once(text, this.#targets, redactTarget)
  }

  /** Of a header that is no credential by its name. */
  redactValue(text: string): string {
    return this.#once(text, this.#values, redactValue)
  }

  #once(text: string, kept: Map<string, string>, show: typeof redactTarget): string {
    const known = kept.get(text)
    if (known !== undefined) return known
    const shown = show(text, this.parameters)
    if (text.length >= MIN_KEPT_LENGTH && kept.size < MAX_KEPT) kept.set(text, shown)
    return shown
  }
}

// What a trace may show and how much of it, by the configuration in force: found out when somebody watches, and once.

export interface TraceSettings {
  readonly secretNames: SecretNames
  /** How values of the configuration are shown. */
  readonly formatter: ConfigFormatter
  /** Bytes of a body that are kept. */
  readonly maxBodyBytes: number
}

export class TraceSettingsCache {
  #config: Config | null = null
  #terms: TraceSettings | null = null

  /** The same for the same configuration. */
  settingsFor(config: Config): TraceSettings {
    if (this.#terms === null || this.#config !== config) this.#terms = buildTraceSettings(config)
    this.#config = config
    return this.#terms
  }
}

function buildTraceSettings(config: Config): TraceSettings {
  const { sensitiveHeaders, maxTracedBytes } = config.process
  const headers: string[] = [...sensitiveHeaders]
  const parameters = new Set<string>()
  const note: NoteCredentialName = (kind, name) => {
    if (kind === 'header') headers.push(name)
    else parameters.add(name)
  }
  findCredentialNames([config.gateways, config.ui], note)
  return {
    secretNames: { headers: sensitiveHeaderNames(headers), parameters },
    formatter: new ConfigFormatter(sensitiveHeaders),
    maxBodyBytes: maxTracedBytes,
  }
}

type NoteCredentialName = (kind: 'header' | 'query', name: string) => void

/** Every place of a credential that the configuration names: those of clients, and those for backends. */
function findCredentialNames(value: unknown, note: NoteCredentialName): void {
  if (Array.isArray(value)) return value.forEach((item) => findCredentialNames(item, note))
  if (typeof value !== 'object' || value === null) return
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return
  const { kind, name } = value as { kind?: unknown; name?: unknown }
  if ((kind === 'header' || kind === 'query') && typeof name === 'string') note(kind, name)
  for (const part of Object.values(value)) findCredentialNames(part, note)
}
