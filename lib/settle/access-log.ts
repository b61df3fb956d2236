// One line a request, written when its last byte is out or never will be (reference.md 8.6).

import type { Exchange } from '../base/exchange.ts'
import type { Facts, McpFacts } from '../base/cel/facts.ts'
import type { Claims } from '../base/cel/json.ts'
import type { Log, Value } from '../base/log.ts'

export function logAccess(log: Log, exchange: Exchange): void {
  if (!log.allows('info', 'request')) return
  const { request, source, error } = exchange
  log.line('info', 'request', 'request', [
    'gateway',
    'default/default',
    'listener',
    exchange.listener || undefined,
    'route',
    exchange.route || undefined,
    'endpoint',
    exchange.endpoint || undefined,
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
    protocolOf(exchange.facts),
    ...jwtFields(exchange.facts?.jwt),
    ...mcpFields(exchange.facts?.mcp),
    ...llmFields(exchange),
    'outcome',
    exchange.outcome,
    'error',
    error?.message ?? exchange.facts?.mcp?.errorText,
    'reason',
    error?.code ?? (exchange.refusal || undefined),
    'rule',
    exchange.refusedBy < 0 ? undefined : exchange.refusedBy,
    'duration',
    `${Math.round(performance.now() - exchange.started)}ms`,
  ])
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
