// Requests as the access log tells of them, and why each ended as it did.

import type { ListenerState, LogLine } from '../../../admin/page-api/page-api-types.ts'
import { mcpStatusReason, outcomeReason, reasonOf } from '../overview/reasons.ts'
import type { Reason } from '../overview/reasons.ts'

export interface SeenRequest {
  /** Of its line. */
  readonly number: number
  readonly at: number
  readonly method: string
  readonly path: string
  /** Key; empty when no route was found. */
  readonly route: string
  /** 0 when there was no answer. */
  readonly status: number
  readonly duration: string
  readonly fields: LogLine['fields']
}

type Fields = ReadonlyMap<string, string | number | boolean>

/** Of requests for this page itself, where a listener serves it. */
const OURS = 'ui'

/** Null for a line that is about something else. */
export function requestOf(line: LogLine): SeenRequest | null {
  if (line.module !== 'request' || line.message !== 'request') return null
  const fields: Fields = new Map(line.fields)
  if (fields.get('endpoint') === OURS) return null
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

/** What to show in place of an explanation when all went well. */
export function gistOf(request: SeenRequest): string {
  const of: Fields = new Map(request.fields)
  if (isEar(request)) return 'MCP event stream, closed by the client'
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

/** Why it was refused or failed; null when all went well. */
export function explain(request: SeenRequest): Reason | null {
  const { status, fields } = request
  const of: Fields = new Map(fields)
  if (isEar(request)) return null
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

/** The stream by which an MCP client listens: that its client closes it is how it ends. */
function isEar({ method, status, fields }: SeenRequest): boolean {
  const of: Fields = new Map(fields)
  return (
    method === 'GET' &&
    status === 200 &&
    of.has('mcp.session.id') &&
    of.get('outcome') === 'client_closed'
  )
}

/** Of a backend that could not be asked, the log knows more than that. */
function withError(reason: Reason, of: Fields): Reason {
  const said = textOf(of, 'error').replace(/^upstream call failed: /, '')
  if (!/^(?:BACKEND|CONNECT)_/.test(textOf(of, 'reason')) || said === '') return reason
  return { ...reason, words: `${reason.words.replace(/\.$/, '')}: ${said}.` }
}

function withRule(reason: Reason, of: Fields): Reason {
  const rule = of.get('rule')
  if (typeof rule !== 'number') return reason
  const words = `Rule ${rule + 1} of authorization does not let it pass.`
  return { ...reason, words, policy: `authorization.rules[${rule}]` }
}

function unknownReason(code: string): Reason {
  return { words: `It ended with "${code}".`, advice: 'A trace shows each step.', policy: null }
}

/** MCP errors travel inside answers with any status. */
function mcpReason(of: Fields): Reason {
  const said = textOf(of, 'error')
  const words =
    said === ''
      ? `The MCP server answered with error ${of.get('mcp.error.code')}.`
      : `MCP error: ${said}`
  const advice =
    'An unknown name may be one that mcpAuthorization hides from this client. Try the call on the MCP page.'
  return { words, advice, policy: null }
}

function backendReason(status: number, of: Fields): Reason {
  return {
    words: `The backend answered ${status}.`,
    advice: `It came from ${of.get('endpoint')}; the gateway only passed it on.`,
    policy: null,
  }
}

/** Nobody behind the gateway was asked. */
function policyReason(status: number): Reason {
  return {
    words: `A policy of the route answered ${status}.`,
    advice: 'A trace shows which one. directResponse, for one, answers without any backend.',
    policy: null,
  }
}

/** CEL that is true for the next request like this one. */
export function expressionFor({ method, path }: SeenRequest): string {
  return `request.method == ${JSON.stringify(method)} && request.path == ${JSON.stringify(path)}`
}

/** `gateway/default/default/chat`: people know it by the last part. */
export function shortRoute(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1)
}

/** `gateway/<gateway>` or `gateway/<gateway>/<listener>`: it stands for requests that no route took. */
export function isListenerKey(key: string): boolean {
  return key.split('/').length <= 3
}

function textOf(of: Fields, name: string): string {
  return String(of.get(name) ?? '')
}

const LEVELS = ['off', 'error', 'warn', 'info', 'debug', 'trace']

/** Whether a log with this filter has a line for each request. */
export function tellsOfRequests(filter: string): boolean {
  const words = filter.split(',').map((word) => word.trim())
  const own = words.findLast((word) => word.startsWith('request='))?.slice('request='.length)
  const level = own ?? words.findLast((word) => !word.includes('=')) ?? 'info'
  return LEVELS.indexOf(level) >= LEVELS.indexOf('info')
}

const ANY_ADDRESS = ['0.0.0.0', '[::]', '*']

/** The first request one could send; `host` is how the page was reached. */
export function curlFor(
  { bind, protocol }: Pick<ListenerState, 'bind' | 'protocol'>,
  host: string,
): string {
  const port = bind.slice(bind.lastIndexOf(':') + 1)
  const name = reachable(bind, host)
  return `curl -i ${protocol === 'HTTPS' ? '-k ' : ''}${protocol.toLowerCase()}://${name}:${port}/`
}

/** The address that a listener is bound to; `host` where it is bound to all. */
export function reachable(bind: string, host: string): string {
  const address = bind.slice(0, bind.lastIndexOf(':'))
  return ANY_ADDRESS.includes(address) || address === '' ? host : address
}
