// What is known about an exchange just now, as a snapshot shows it: the names that rules read, without credentials.

import type { Claims } from '../cel/json.ts'
import { toJson } from '../cel/json.ts'
import type { Exchange } from '../exchange.ts'
import { REDACTED, shownTarget } from '../redact.ts'
import type { Fields } from '../wire/head.ts'

/** Header names whose values are not shown. */
type Sensitive = ReadonlySet<string>

type State = Record<string, unknown>

export function requestState(exchange: Exchange, sensitive: Sensitive): State {
  const { source, facts } = exchange
  return {
    request: requestOf(exchange, sensitive),
    source: { address: source.address, port: source.port },
    env: {},
    ...(facts?.jwt !== undefined && { jwt: plain(facts.jwt) }),
    ...(facts?.apiKey !== undefined && { apiKey: plain(facts.apiKey) }),
    ...(facts?.basicAuth !== undefined && { basicAuth: facts.basicAuth }),
    ...(facts?.mcp !== undefined && { mcp: mcpOf(facts.mcp) }),
    ...(facts?.llm !== undefined && { llm: { ...facts.llm } }),
    ...(facts?.backend !== undefined && { backend: facts.backend }),
    ...placeOf(exchange),
  }
}

/** As it is now: a rewrite shows in the next snapshot. */
function requestOf({ request, source, started }: Exchange, sensitive: Sensitive): State {
  const scheme = source.secure ? 'https' : 'http'
  const target = shownTarget(request.target)
  return {
    method: request.method,
    uri: `${scheme}://${request.authority}${target}`,
    path: request.path,
    pathAndQuery: target,
    host: request.authority,
    scheme,
    version: request.version,
    headers: headersOf(request, sensitive),
    startTime: new Date(performance.timeOrigin + started).toISOString(),
  }
}

/** A text, or a list where a name occurs several times. */
export function headersOf(fields: Fields, sensitive: Sensitive): State {
  const shown = new Map<string, string[]>()
  for (const [name, value] of fields.entries()) {
    const values = shown.get(name) ?? []
    values.push(sensitive.has(name) ? REDACTED : shownTarget(value))
    shown.set(name, values)
  }
  return Object.fromEntries(
    [...shown].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}

/** Integers of claims are exact, which only their own writer keeps. */
function plain(claims: Claims): unknown {
  return JSON.parse(toJson(claims))
}

/** Whoever has a session's id can use it. */
function mcpOf(mcp: { sessionId?: string | undefined }): State {
  return {
    ...mcp,
    ...(mcp.sessionId !== undefined && { sessionId: `${mcp.sessionId.slice(0, 8)}…` }),
  }
}

function placeOf({ listener, route }: Exchange): State {
  if (listener === '') return {}
  const [, gateway = ''] = listener.split('/')
  return {
    proxy: {
      gateway: { namespace: 'default', name: gateway },
      listener: { name: listener },
      ...(route !== '' && { route: { namespace: 'default', name: route } }),
    },
  }
}
