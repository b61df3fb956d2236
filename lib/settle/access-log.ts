// One line a request, written when its last byte is out or never will be (reference.md 8.6).

import type { Facts, McpFacts } from '../base/cel/facts.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Log, Opening, Value } from '../base/log/log.ts'
import type { Claims } from '../base/cel/facts.ts'

/** Of so many places where requests went, the beginning of the line is kept. */
const MAX_OPENINGS = 1_000

export class AccessLog {
  readonly #log: Log
  /** By listener, route and backend. One LRU map by the joined names takes 450 ns for each line instead of 70. */
  readonly #openings = new Map<string, Map<string, Map<string, Opening>>>()
  #kept = 0

  constructor(log: Log) {
    this.#log = log
  }

  /** `now` is on the clock of `performance.now()`. */
  write(exchange: Exchange, now: number): void {
    if (!this.#log.allows('info', 'request')) return
    const { request, source, error, facts } = exchange
    const fields: Value[] = [
      'src.addr',
      source.label,
      'http.method',
      request.method,
      'http.host',
      request.authority || undefined,
      'http.path',
      pathOf(exchange.target),
      'http.version',
      request.version,
      'http.status',
      statusOf(exchange),
      'protocol',
      protocolOf(facts),
      'outcome',
      exchange.outcome,
      'error',
      error?.message ?? facts?.mcp?.errorText,
      'reason',
      error?.code ?? (exchange.refusal || undefined),
      'rule',
      exchange.refusedBy < 0 ? undefined : exchange.refusedBy,
      'duration',
      `${Math.round(now - exchange.started)}ms`,
    ]
    if (facts !== null) insertFacts(fields, exchange, facts)
    this.#log.lineOf(this.#openingOf(exchange), fields)
  }

  #openingOf({ listener, route, endpoint }: Exchange): Opening {
    const known = this.#openings.get(listener)?.get(route)?.get(endpoint)
    if (known !== undefined) return known
    const opening = this.#log.opening('info', 'request', 'request', [
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
    mapIn(mapIn(this.#openings, listener), route).set(endpoint, opening)
    return opening
  }
}

function mapIn<T>(maps: Map<string, Map<string, T>>, key: string): Map<string, T> {
  let found = maps.get(key)
  if (found === undefined) maps.set(key, (found = new Map()))
  return found
}

/** Behind `protocol`. */
const FACTS_AT = 14

function insertFacts(fields: Value[], exchange: Exchange, { jwt, mcp }: Facts): void {
  const more = [...jwtFields(jwt), ...mcpFields(mcp), ...llmFields(exchange)]
  fields.splice(FACTS_AT, 0, ...more)
}

function protocolOf(facts: Facts | null): 'http' | 'mcp' | 'llm' {
  if (facts?.llm !== undefined) return 'llm'
  return facts?.mcp === undefined ? 'http' : 'mcp'
}

/** Letters of a client's words in one field. */
const MAX_LOGGED = 256

function clipped(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_LOGGED ? text : `${text.slice(0, MAX_LOGGED)}…`
}

const NONE: readonly Value[] = []

/** Who it was for, as far as the token says. */
function jwtFields(jwt: Claims | undefined): readonly Value[] {
  const subject = jwt?.get('sub')
  return typeof subject === 'string' ? ['jwt.sub', clipped(subject)] : NONE
}

/** Of a session's id only enough to tell it from others: whoever has it all can use it. */
function mcpFields(mcp: McpFacts | undefined): readonly Value[] {
  if (mcp === undefined) return NONE
  const { methodName, sessionId, tool, prompt, resource, task } = mcp
  const [type, item] =
    Object.entries({ tool, prompt, resource, task }).find(([, one]) => one !== undefined) ?? []
  return [
    'mcp.method.name',
    clipped(methodName),
    'mcp.target',
    item?.target,
    'mcp.resource.type',
    type,
    'mcp.resource.name',
    clipped(item?.name),
    'mcp.session.id',
    sessionId?.slice(0, 8),
    'mcp.error.code',
    mcp.errorCode,
  ]
}

/** Names as OpenTelemetry has them; `estimated` where nobody counted. */
function llmFields({ facts, spent }: Exchange): readonly Value[] {
  const llm = facts?.llm
  if (llm === undefined) return NONE
  const isCounted = llm.inputTokens !== undefined && llm.outputTokens !== undefined
  return [
    'gen_ai.provider.name',
    llm.provider,
    'gen_ai.request.model',
    clipped(llm.requestModel),
    'gen_ai.response.model',
    clipped(llm.responseModel),
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
function statusOf({ status, outcome }: Exchange): number | undefined {
  if (status !== 0) return status
  return outcome === 'client_closed' ? 499 : undefined
}

/** Without the query, which may hold a secret. */
function pathOf(target: string): string {
  const at = target.indexOf('?')
  return at < 0 ? target : target.substring(0, at)
}
