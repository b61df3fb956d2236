// One line a request, written when its last byte is out or never will be (reference.md 8.6).

import type { Exchange } from '../base/exchange.ts'
import type { Log } from '../base/log.ts'

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
    'http',
    'outcome',
    exchange.outcome,
    'error',
    error?.message,
    'reason',
    error?.code,
    'duration',
    `${Math.round(performance.now() - exchange.started)}ms`,
  ])
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
