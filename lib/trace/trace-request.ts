// The state of an exchange as a trace snapshot shows it, without credentials, and the settings that decide what is shown.

import type { Config } from '../config/config-types.ts'
import { ConfigFormatter } from '../config/show.ts'
import type { Exchange } from '../core/exchange.ts'
import type { Claims, LlmFacts } from '../core/facts.ts'
import type { HeaderFields, RequestHead } from '../core/head.ts'
import type { SentRequest } from '../core/trace-events.ts'
import { EnvView } from '../expressions/exchange-view.ts'
import { celToJson } from '../expressions/json-values.ts'
import type { KnownSecrets } from '../text/known-secrets.ts'
import {
  isSecretGroup,
  isSecretHeader,
  isSecretParameter,
  isSecretSetting,
  REDACTED,
  redactHeaders,
  redactTarget,
  redactTexts,
  redactValue,
  removeScheme,
  sensitiveHeaderNames,
} from '../text/redaction.ts'
import type { SecretNames } from '../text/redaction.ts'

type StateFields = Record<string, unknown>

export function describeRequestState(
  exchange: Exchange,
  redaction: RedactionCache,
  sent: SentRequest = {},
): StateFields {
  const {
    source,
    facts,
    choice: { backend },
  } = exchange
  return {
    request: describeRequest(exchange, redaction, sent),
    source: { address: source.address, port: source.port },
    env: envState(new EnvView()),
    ...(facts?.jwt !== undefined && { jwt: redactClaims(facts.jwt, redaction) }),
    ...(facts?.apiKey !== undefined && {
      apiKey: { key: REDACTED, ...redactClaims(facts.apiKey, redaction) },
    }),
    ...(facts?.basicAuth !== undefined && { basicAuth: facts.basicAuth }),
    ...(facts?.mcp !== undefined && { mcp: mcpState(facts.mcp) }),
    ...(facts?.llm !== undefined && { llm: llmState(facts.llm) }),
    ...(backend !== null && { backend }),
    ...proxyState(exchange),
  }
}

/** The current state: a rewrite is visible in the next snapshot. */
function describeRequest(
  { request: received, source, startedAt }: Exchange,
  redaction: RedactionCache,
  sent: SentRequest,
) {
  const request = sent.request ?? received
  const authority = sent.host ?? request.authority
  const scheme = source.secure ? 'https' : 'http'
  const target = redaction.redactTarget(request.target)
  const headers = redaction.redactHeaders(request)
  return {
    method: request.method,
    uri: `${scheme}://${authority}${target}`,
    path: request.path,
    pathAndQuery: target,
    // Without the port, as in expressions.
    host: authority.replace(/:\d*$/, ''),
    scheme,
    version: request.version,
    headers: sent.host == null ? headers : { ...headers, host: sent.host },
    startTime: new Date(performance.timeOrigin + startedAt).toISOString(),
  }
}

/** Claims have exact integers, which only `celToJson` preserves. Claim names are the user's, and may name a secret. */
function redactClaims(claims: Claims, redaction: SecretNames): StateFields {
  return JSON.parse(celToJson(claims), (name, value: unknown) =>
    isSecretSetting(name, redaction) || isSecretGroup(name) ? redactTexts(value) : value,
  ) as StateFields
}

/** Only the fields that expressions see. */
function llmState({ operation: _operation, ending: _ending, ...visible }: LlmFacts): StateFields {
  return visible
}

/** With the whole id, another client could use the session. */
function mcpState(mcp: { sessionId?: string | undefined }): StateFields {
  return {
    ...mcp,
    ...(mcp.sessionId !== undefined && { sessionId: `${mcp.sessionId.slice(0, 8)}…` }),
  }
}

/** Unset variables are omitted from the JSON. */
function envState({ podName, namespace, gateway }: EnvView): StateFields {
  return { podName, namespace, gateway }
}

/** Keys are `gateway/<gateway>[/<listener>]` and `<listener key>/<namespace>/<route>`. */
function proxyState({ choice }: Exchange): StateFields {
  const { listenerKey: listener, routeKey: route } = choice
  if (listener === '') return {}
  const [, gateway = '', name] = listener.split('/')
  const isOwn = route.startsWith(`${listener}/`)
  const [namespace, ...rest] = route.slice(listener.length + 1).split('/')
  return {
    proxy: {
      gateway: { namespace: choice.gatewayNamespace, name: gateway },
      ...(name !== undefined && { listener: { name } }),
      ...(isOwn && { route: { namespace, name: rest.join('/'), kind: 'HTTPRoute' } }),
    },
  }
}

/** Shorter texts are redacted faster than looked up. */
const MIN_CACHED_LENGTH = 128

/** Texts in the cache; further ones are redacted each time. */
const MAX_CACHED = 256

/** Redacts the texts of one request. Every snapshot contains the same ones: long ones are redacted once. */
export class RedactionCache implements SecretNames {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
  readonly #secrets: KnownSecrets
  readonly #targets = new Map<string, string>()
  readonly #values = new Map<string, string>()

  /** `secrets` are those that the gateway added to the request; more may be added later. */
  constructor({ headers, parameters }: SecretNames, secrets: KnownSecrets) {
    this.headers = headers
    this.parameters = parameters
    this.#secrets = secrets
  }

  redactHeaders(fields: HeaderFields): Record<string, string | readonly string[]> {
    return redactHeaders(fields.entries(), this, (value, name) => this.redactValue(value, name))
  }

  /** Redacts a path and query. */
  redactTarget(text: string): string {
    return this.#secrets.redactText(this.#cached(text, this.#targets, redactTarget))
  }

  /** Redacts the value of a header whose name is not secret. */
  redactValue(text: string, name = ''): string {
    // Issue 18: a cookie that a backend sets is shown, unless `config.sensitiveHeaders` has its header.
    const shown = name === 'set-cookie' ? text : this.#cached(text, this.#values, redactValue)
    return this.#secrets.redactText(shown)
  }

  #cached(text: string, cache: Map<string, string>, redact: typeof redactTarget): string {
    const cached = cache.get(text)
    if (cached !== undefined) return cached
    const redacted = redact(text, this.parameters)
    if (text.length >= MIN_CACHED_LENGTH && cache.size < MAX_CACHED) cache.set(text, redacted)
    return redacted
  }
}

/** Finds the credentials in a request that the client did not send: the gateway added them. */
export class AddedCredentials {
  readonly #names: SecretNames
  readonly #secrets: KnownSecrets
  readonly #sentByClient: string

  /** `received` is the request before any policy; what is found later is added to `secrets`. */
  constructor(received: RequestHead, names: SecretNames, secrets: KnownSecrets) {
    this.#names = names
    this.#secrets = secrets
    this.#sentByClient = [received.target, ...[...received.entries()].map(([, v]) => v)].join('\n')
  }

  find(sent: RequestHead): void {
    for (const [name, value] of sent.entries())
      if (isSecretHeader(name, this.#names)) this.#add(value)
    for (const [name, value] of new URLSearchParams(sent.query))
      if (this.#names.parameters.has(name) || isSecretParameter(name)) this.#add(value)
  }

  #add(value: string): void {
    if (this.#sentByClient.includes(value)) return
    this.#secrets.add(removeScheme(value))
  }
}

/** What a trace may show, by the current configuration. */
export interface TraceSettings {
  readonly secretNames: SecretNames
  /** config.trace.redactBodies. */
  readonly redactBodies: readonly string[]
  /** How values of the configuration are shown. */
  readonly formatter: ConfigFormatter
  /** Bytes copied of each body. */
  readonly maxBodyBytes: number
}

export class TraceSettingsCache {
  #config: Config | null = null
  #settings: TraceSettings | null = null

  /** Settings are built once per configuration. */
  settingsFor(config: Config): TraceSettings {
    if (this.#settings === null || this.#config !== config)
      this.#settings = buildTraceSettings(config)
    this.#config = config
    return this.#settings
  }
}

function buildTraceSettings(config: Config): TraceSettings {
  const { sensitiveHeaders, maxTracedBytes, redactBodies } = config.process
  const headers: string[] = [...sensitiveHeaders]
  const parameters = new Set<string>()
  const addName: NoteCredentialName = (kind, name) => {
    if (kind === 'header') headers.push(name)
    else parameters.add(name)
  }
  findCredentialNames([config.gateways, config.ui], addName)
  return {
    secretNames: { headers: sensitiveHeaderNames(headers), parameters },
    formatter: new ConfigFormatter(sensitiveHeaders),
    maxBodyBytes: maxTracedBytes,
    redactBodies,
  }
}

type NoteCredentialName = (kind: 'header' | 'query', name: string) => void

/** Finds the names of all headers and parameters that carry credentials, of clients and for backends. */
function findCredentialNames(value: unknown, addName: NoteCredentialName): void {
  if (Array.isArray(value)) return value.forEach((item) => findCredentialNames(item, addName))
  if (typeof value !== 'object' || value === null) return
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return
  const { kind, name } = value as { kind?: unknown; name?: unknown }
  if ((kind === 'header' || kind === 'query') && typeof name === 'string') addName(kind, name)
  for (const part of Object.values(value)) findCredentialNames(part, addName)
}
