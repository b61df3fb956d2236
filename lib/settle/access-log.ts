// One line a request, written when its last byte is out or never will be (reference.md 8.6).

import type { Exchange } from '../core/exchange.ts'
import type { Claims, ExchangeFacts, McpFacts } from '../core/facts.ts'
import type { Log, LogLinePrefix, LogModule, LogValue } from '../core/log.ts'
import type { Reply } from '../core/types.ts'

/** Of so many places where requests went, the beginning of the line is kept. */
const MAX_OPENINGS = 1_000

export class AccessLog {
  readonly #log: Log
  /** By listener, route and backend. One LRU map by the joined names takes 450 ns for each line instead of 70. */
  readonly #openings = new Map<string, Map<string, Map<string, LogLinePrefix>>>()
  #kept = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** `now` is on the clock of `performance.now()`. */
  write(exchange: Exchange, now: number): void {
    if (!this.#log.allows('info', 'request')) return
    const { request, source, error, facts } = exchange
    const fields: LogValue[] = [
      'src.addr',
      source.label,
      'http.method',
      request.method,
      'http.host',
      request.authority || undefined,
      'http.path',
      pathWithoutQueryOf(exchange.originalTarget),
      'http.version',
      request.version,
      'http.status',
      loggedStatusOf(exchange),
      'protocol',
      protocolNameOf(facts),
      'outcome',
      exchange.outcome,
      'error',
      error?.message ?? facts?.mcp?.errorText,
      'reason',
      error?.code ?? (exchange.enforcement.refusalReason || undefined),
      'rule',
      exchange.enforcement.refusingRule < 0 ? undefined : exchange.enforcement.refusingRule,
      'duration',
      `${Math.round(now - exchange.startedAt)}ms`,
    ]
    if (facts !== null) insertFacts(fields, exchange, facts)
    this.#log.writeWithPrefix(this.#openingOf(exchange), fields)
  }

  #openingOf({
    choice: { listenerKey: listener, routeKey: route },
    forwarding: { endpoint },
  }: Exchange): LogLinePrefix {
    const known = this.#openings.get(listener)?.get(route)?.get(endpoint)
    if (known !== undefined) return known
    const opening = this.#log.buildPrefix('info', 'request', 'request', [
      'gateway',
      'default/default',
      'listener',
      listener || undefined,
      'route',
      route || undefined,
      'endpoint',
      endpoint || undefined,
    ])
    // Each reload can bring others.
    if (this.#kept++ >= MAX_OPENINGS) {
      this.#openings.clear()
      this.#kept = 1
    }
    nestedMapIn(nestedMapIn(this.#openings, listener), route).set(endpoint, opening)
    return opening
  }
}

function nestedMapIn<T>(maps: Map<string, Map<string, T>>, key: string): Map<string, T> {
  let found = maps.get(key)
  if (found === undefined) maps.set(key, (found = new Map()))
  return found
}

/** Behind `protocol`. */
const FACTS_AT = 14

function insertFacts(fields: LogValue[], exchange: Exchange, { jwt, mcp }: ExchangeFacts): void {
  const more = [...jwtFields(jwt), ...mcpFields(mcp), ...llmFields(exchange)]
  fields.splice(FACTS_AT, 0, ...more)
}

function protocolNameOf(facts: ExchangeFacts | null): 'http' | 'mcp' | 'llm' {
  if (facts?.llm !== undefined) return 'llm'
  return facts?.mcp === undefined ? 'http' : 'mcp'
}

/** Letters of a client's words in one field. */
const MAX_LOGGED = 256

function clipLogValue(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_LOGGED ? text : `${text.slice(0, MAX_LOGGED)}…`
}

const NONE: readonly LogValue[] = []

/** Who it was for, as far as the token says. */
function jwtFields(jwt: Claims | undefined): readonly LogValue[] {
  const subject = jwt?.get('sub')
  return typeof subject === 'string' ? ['jwt.sub', clipLogValue(subject)] : NONE
}

/** Of a session's id only enough to tell it from others: whoever has it all can use it. */
function mcpFields(mcp: McpFacts | undefined): readonly LogValue[] {
  if (mcp === undefined) return NONE
  const { methodName, sessionId, tool, prompt, resource, task } = mcp
  const [type, item] =
    Object.entries({ tool, prompt, resource, task }).find(([, one]) => one !== undefined) ?? []
  return [
    'mcp.method.name',
    clipLogValue(methodName),
    'mcp.target',
    item?.target,
    'mcp.resource.type',
    type,
    'mcp.resource.name',
    clipLogValue(item?.name),
    'mcp.session.id',
    sessionId?.slice(0, 8),
    'mcp.error.code',
    mcp.errorCode,
  ]
}

/** Names as OpenTelemetry has them; `estimated` where nobody counted. */
function llmFields({ facts, forwarding: { tokenCost: spent } }: Exchange): readonly LogValue[] {
  const llm = facts?.llm
  if (llm === undefined) return NONE
  const isCounted = llm.inputTokens !== undefined && llm.outputTokens !== undefined
  return [
    'gen_ai.provider.name',
    llm.provider,
    'gen_ai.request.model',
    clipLogValue(llm.requestModel),
    'gen_ai.response.model',
    clipLogValue(llm.responseModel),
    'gen_ai.usage.input_tokens',
    llm.inputTokens,
    'gen_ai.usage.cache_read.input_tokens',
    llm.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens',
    llm.cacheCreationInputTokens,
    'gen_ai.usage.output_tokens',
    llm.outputTokens,
    'gen_ai.usage.estimated',
    spent?.basis === 'estimated' && !isCounted ? spent.input + spent.output : undefined,
    'gen_ai.server.time_to_first_token',
    llm.timeToFirstToken,
    'gen_ai.response.ending',
    llm.ending,
  ]
}

/** A client that left before any answer gets none; the log says so by nginx's code. */
function loggedStatusOf({ response: { status }, outcome }: Exchange): number | undefined {
  if (status !== 0) return status
  return outcome === 'client_closed' ? 499 : undefined
}

/** Without the query, which may hold a secret. */
function pathWithoutQueryOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? target : target.substring(0, at)
}

// What is said of a request for those who look for a fault: which policy answered it, and what it cost.

/** Who speaks of what a policy did. */
const VOICES: Readonly<Record<string, LogModule>> = {
  jwtAuth: 'auth',
  mcpAuthentication: 'auth',
  basicAuth: 'auth',
  apiKey: 'auth',
  authorization: 'auth',
  localRateLimit: 'limits',
  remoteRateLimit: 'limits',
  tokenLimit: 'limits',
}

export function logPolicyAnswer(
  log: Log,
  { enforcement: { answeringPolicy: answeredBy }, choice: { routeKey: route }, source }: Exchange,
  { head }: Reply,
): void {
  const module = VOICES[answeredBy] ?? 'choose'
  if (!log.allows('debug', module)) return
  log.write('debug', module, 'policy answered', [
    'policy',
    answeredBy,
    'status',
    head.status,
    'route',
    route || undefined,
    'src.addr',
    source.label,
  ])
}

export function logTokenUsage(
  log: Log,
  {
    facts,
    forwarding: { tokenCost: spent, endpoint, retries },
    choice: { routeKey: route },
  }: Exchange,
): void {
  if (!log.allows('debug', 'llm')) return
  log.write('debug', 'llm', 'settled tokens', [
    'route',
    route,
    'provider',
    facts?.llm?.provider,
    'endpoint',
    endpoint || undefined,
    'input',
    spent?.input,
    'output',
    spent?.output,
    'basis',
    spent?.basis,
    'retries',
    retries,
  ])
}
