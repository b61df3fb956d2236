// What is known about an exchange just now, as a snapshot shows it: the names that rules read, without credentials.

import type { LlmFacts } from '../cel/facts.ts'
import { toJson } from '../cel/json.ts'
import { EnvView } from '../cel/view.ts'
import type { Exchange } from '../exchange.ts'
import { isSecretGroup, isSecretHeader, isSecretSetting, REDACTED } from '../redact/names.ts'
import { withoutTexts } from '../redact/texts.ts'
import type { Hidden } from '../redact/names.ts'
import type { Fields } from '../wire/head.ts'
import type { ShownTexts } from './shown-texts.ts'
import type { Claims } from '../cel/facts.ts'
import type { SentRequest } from './events.ts'

type State = Record<string, unknown>

export function requestState(
  exchange: Exchange,
  hidden: ShownTexts,
  sent: SentRequest = {},
): State {
  const { source, facts, backend } = exchange
  return {
    request: requestOf(exchange, hidden, sent),
    source: { address: source.address, port: source.port },
    env: envOf(new EnvView()),
    ...(facts?.jwt !== undefined && { jwt: plain(facts.jwt, hidden) }),
    ...(facts?.apiKey !== undefined && {
      apiKey: { key: REDACTED, ...plain(facts.apiKey, hidden) },
    }),
    ...(facts?.basicAuth !== undefined && { basicAuth: facts.basicAuth }),
    ...(facts?.mcp !== undefined && { mcp: mcpOf(facts.mcp) }),
    ...(facts?.llm !== undefined && { llm: llmOf(facts.llm) }),
    ...(backend !== null && { backend }),
    ...placeOf(exchange),
  }
}

/** As it is now: a rewrite shows in the next snapshot. */
function requestOf(
  { request: given, source, started }: Exchange,
  hidden: ShownTexts,
  sent: SentRequest,
) {
  const request = sent.request ?? given
  const authority = sent.host ?? request.authority
  const scheme = source.secure ? 'https' : 'http'
  const target = hidden.target(request.target)
  const headers = headersOf(request, hidden)
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
    startTime: new Date(performance.timeOrigin + started).toISOString(),
  }
}

/** A text, or a list where a name occurs several times. */
export function headersOf(fields: Fields, hidden: ShownTexts): State {
  const shown = new Map<string, string[]>()
  for (const [name, value] of fields.entries()) {
    const values = shown.get(name) ?? []
    values.push(isSecretHeader(name, hidden) ? REDACTED : hidden.value(value))
    shown.set(name, values)
  }
  return Object.fromEntries(
    [...shown].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
}

/** Integers of claims are exact, which only their own writer keeps. Names are those of users, and may tell of a secret. */
function plain(claims: Claims, hidden: Hidden): State {
  return JSON.parse(toJson(claims), (name, value: unknown) =>
    isSecretSetting(name, hidden) || isSecretGroup(name) ? withoutTexts(value) : value,
  ) as State
}

/** As expressions see it. */
function llmOf({ operation: _operation, ending: _ending, ...seen }: LlmFacts): State {
  return seen
}

/** Whoever has a session's id can use it. */
function mcpOf(mcp: { sessionId?: string | undefined }): State {
  return {
    ...mcp,
    ...(mcp.sessionId !== undefined && { sessionId: `${mcp.sessionId.slice(0, 8)}…` }),
  }
}

/** What is not set is left out when it is written. */
function envOf({ podName, namespace, gateway }: EnvView): State {
  return { podName, namespace, gateway }
}

/** Keys are `gateway/<gateway>[/<listener>]` and `<listener key>/<namespace>/<route>`. */
function placeOf({ listener, route }: Exchange): State {
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
