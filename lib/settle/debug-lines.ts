// What is said of a request for those who look for a fault: which policy answered it, and what it cost.

import type { Exchange } from '../base/exchange.ts'
import type { Log, Module } from '../base/log/log.ts'
import type { Reply } from '../base/types.ts'

/** Who speaks of what a policy did. */
const VOICES: Readonly<Record<string, Module>> = {
  jwtAuth: 'auth',
  mcpAuthentication: 'auth',
  basicAuth: 'auth',
  apiKey: 'auth',
  authorization: 'auth',
  localRateLimit: 'limits',
  remoteRateLimit: 'limits',
  tokenLimit: 'limits',
}

export function tellOfPolicy(
  log: Log,
  { answeredBy, route, source }: Exchange,
  { head }: Reply,
): void {
  const module = VOICES[answeredBy] ?? 'choose'
  if (!log.allows('debug', module)) return
  log.line('debug', module, 'policy answered', [
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

export function tellOfTokens(log: Log, { facts, spent, endpoint, retries, route }: Exchange): void {
  if (!log.allows('debug', 'llm')) return
  log.line('debug', 'llm', 'settled tokens', [
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
