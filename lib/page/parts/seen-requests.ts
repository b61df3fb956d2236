// Requests read from lines of the access log, each with a summary or the reason of its refusal.

import type { ListenerState, LogLine } from '../../admin/page-api/page-api-types.ts'
import { mcpStatusReason, outcomeReason, reasonOf } from './refusal-reasons.ts'
import type { Reason } from './refusal-reasons.ts'

export interface SeenRequest {
  /** Number of its log line. */
  readonly number: number
  readonly at: number
  readonly method: string
  readonly path: string
  /** Key of the route; empty when none matched. */
  readonly route: string
  /** 0 when there was no response. */
  readonly status: number
  readonly duration: string
  readonly fields: LogLine['fields']
}

type Fields = ReadonlyMap<string, string | number | boolean>

/** The endpoint of requests for this page itself, where a listener serves it. */
const UI_ENDPOINT_NAME = 'ui'

/** Null for a line that is not about a request. */
export function requestOf(line: LogLine): SeenRequest | null {
  if (line.module !== 'request' || line.message !== 'request') return null
  const fields: Fields = new Map(line.fields)
  if (fields.get('endpoint') === UI_ENDPOINT_NAME) return null
  return {
    number: line.number,
    at: line.at,
    method: textOf(fields, 'http.method'),
    path: textOf(fields, 'http.path'),
    route: textOf(fields, 'route'),
    status: Number(fields.get('http.status') ?? 0),
    duration: textOf(fields, 'duration'),
    fields: line.fields,
  }
}

/** Fields that name the user, in the order of the log. */
const USER_FIELDS = ['jwt.sub', 'apiKey.user_id', 'apiKey.name', 'basicAuth.username']

/** The authenticated user; empty if there is none. */
export function userText(request: SeenRequest): string {
  const of: Fields = new Map(request.fields)
  const field = USER_FIELDS.find((name) => of.has(name))
  return field === undefined ? '' : textOf(of, field)
}

/** What to show for a request that succeeded. */
export function summaryText(request: SeenRequest): string {
  const of: Fields = new Map(request.fields)
  if (isNotificationStream(request)) return 'MCP event stream, closed by the client'
  const tool = of.get('mcp.resource.name')
  if (of.has('mcp.method.name'))
    return tool === undefined
      ? textOf(of, 'mcp.method.name')
      : `${textOf(of, 'mcp.method.name')} ${tool}`
  const model = of.get('gen_ai.response.model') ?? of.get('gen_ai.request.model')
  if (model === undefined) return ''
  const [input, output] = [
    of.get('gen_ai.usage.input_tokens'),
    of.get('gen_ai.usage.output_tokens'),
  ]
  if (input === undefined && output === undefined) return String(model)
  return `${model}, ${input ?? '?'} tokens in, ${output ?? '?'} out`
}

/** Why the request was refused or failed; null when it succeeded. */
export function explain(request: SeenRequest): Reason | null {
  const { status, fields } = request
  const of: Fields = new Map(fields)
  if (isNotificationStream(request)) return null
  const code = textOf(of, 'reason')
  if (code !== '') return withError(withRule(reasonOf(code) ?? unknownReason(code), of), of)
  const outcome = textOf(of, 'outcome')
  if (outcome !== 'complete' && outcome !== '')
    return outcomeReason(outcome) ?? unknownReason(outcome)
  if (of.has('mcp.error.code')) return mcpReason(of)
  if (status < 400) return null
  const mcp = of.get('protocol') === 'mcp' ? mcpStatusReason(status) : null
  if (mcp !== null) return mcp
  return of.has('endpoint') ? backendReason(status, of) : policyReason(status)
}

/** The stream for notifications to an MCP client, which always ends by the client closing it. */
function isNotificationStream({ method, status, fields }: SeenRequest): boolean {
  const of: Fields = new Map(fields)
  return (
    method === 'GET' &&
    status === 200 &&
    of.has('mcp.session.id') &&
    of.get('outcome') === 'client_closed'
  )
}

/** Adds the error of a failed backend call, which the log line has. */
function withError(reason: Reason, of: Fields): Reason {
  const said = textOf(of, 'error').replace(/^upstream call failed: /, '')
  if (!/^(?:BACKEND|CONNECT)_/.test(textOf(of, 'reason')) || said === '') return reason
  return { ...reason, words: `${reason.words.replace(/\.$/, '')}: ${said}.` }
}

function withRule(reason: Reason, of: Fields): Reason {
  const rule = of.get('rule')
  if (typeof rule !== 'number') return reason
  // The same number as in the log line below it and in the path of the configuration.
  const policy = `authorization.rules[${rule}]`
  return { ...reason, words: `The rule ${policy} denied the request.`, policy }
}

function unknownReason(code: string): Reason {
  return {
    words: `The request ended with "${code}".`,
    advice: 'A trace shows each step.',
    policy: null,
  }
}

/** An MCP error can be in a response with any status. */
function mcpReason(of: Fields): Reason {
  const said = textOf(of, 'error')
  const words =
    said === ''
      ? `The MCP server responded with error ${of.get('mcp.error.code')}.`
      : `MCP error: ${said}`
  const advice =
    'For an unknown name: mcpAuthorization may hide it from this client. Try the call on the MCP page.'
  return { words, advice, policy: null }
}

function backendReason(status: number, of: Fields): Reason {
  return {
    words: `The backend responded with ${status}.`,
    advice: `The response is from ${of.get('endpoint')}; the gateway forwarded it.`,
    policy: null,
  }
}

/** No backend was called. */
function policyReason(status: number): Reason {
  return {
    words: `A policy of the route responded with ${status}.`,
    advice: 'A trace shows which one; directResponse, for example, needs no backend.',
    policy: null,
  }
}

/** A CEL expression that matches the next request like this one. */
export function expressionFor({ method, path }: SeenRequest): string {
  return `request.method == ${JSON.stringify(method)} && request.path == ${JSON.stringify(path)}`
}

/** The last part of `gateway/default/default/chat`. */
export function shortRoute(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

/** `gateway/<gateway>` or `gateway/<gateway>/<listener>`: requests that no route matched. */
export function isListenerKey(key: string): boolean {
  return key.split('/').length <= 3
}

function textOf(of: Fields, name: string): string {
  return String(of.get(name) ?? '')
}

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace']

/** Whether a log with this level filter has a line for each request. */
export function logsRequests(filter: string): boolean {
  const words = filter.split(',').map((word) => word.trim())
  const own = words.findLast((word) => word.startsWith('request='))?.slice('request='.length)
  const level = own ?? words.findLast((word) => !word.includes('=')) ?? 'info'
  return LEVELS.indexOf(level) >= LEVELS.indexOf('info')
}

const ANY_ADDRESS = ['0.0.0.0', '[::]', '*']

/** A command for a first request; `host` is the host of the page's address. */
export function curlFor(
  { bind, protocol }: Pick<ListenerState, 'bind' | 'protocol'>,
  host: string,
): string {
  const port = bind.slice(bind.lastIndexOf(':') + 1)
  const name = reachableHost(bind, host)
  return `curl -i ${protocol === 'HTTPS' ? '-k ' : ''}${protocol.toLowerCase()}://${name}:${port}/`
}

/** The address that a listener is bound to; `host` where it is bound to all addresses. */
export function reachableHost(bind: string, host: string): string {
  const address = bind.slice(0, bind.lastIndexOf(':'))
  return ANY_ADDRESS.includes(address) || address === '' ? host : address
}
