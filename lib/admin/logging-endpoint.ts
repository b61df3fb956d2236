// /logging: reads and changes the log filter (reference.md 7.2).

import { checkLogFilter, parseLogFilter, formatLogFilter } from '../core/log-filter.ts'
import type { LogFilter } from '../core/log-filter.ts'
import type { EndpointTable } from './endpoint-types.ts'
import { LOG_MODULES } from '../core/log.ts'
import type { Log } from '../core/log.ts'
import { sendText } from './admin-server.ts'

/** The maximum of modules in a filter. */
const MAX_DIRECTIVES = 64
const MAX_LEVEL_CHARS = 1_024

const USAGE = `usage:
  GET  /logging                             reads the filter
  POST /logging?level=debug                 replaces the filter: all modules log at this level
  POST /logging?level=info,mcp=debug,forward=trace
  POST /logging?set=mcp=trace               changes the level of one module and keeps the others
  POST /logging?reset                       resets to the filter at start; with level=… or set=…, then adds that
levels: off, error, warn, info, debug, trace
modules: ${LOG_MODULES.join(', ')}`

/** Sets the level in other processes; returns a problem for each process where that failed. */
export type BroadcastLogLevel = (level: string) => Promise<readonly string[]>

export function createLoggingEndpoints(
  log: Log,
  broadcast: BroadcastLogLevel = async () => [],
): EndpointTable {
  const current = (): string => `current log level is ${formatLogFilter(log.filter)}`
  return {
    '/logging': {
      GET: (_request, response) => sendText(response, 200, current()),
      POST: async (_request, response, { searchParams }) => {
        const wanted = ['level', 'set'].flatMap((name) => searchParams.get(name) ?? [])
        const next = findNextFilter(log, searchParams, wanted)
        if (next === null)
          return sendText(
            response,
            400,
            `Invalid level provided: ${clipText(wanted.join())}\n${USAGE}`,
          )
        if (formatLogFilter(next) !== formatLogFilter(log.filter)) {
          log.filter = next
          log.write('info', 'admin', 'log level set', ['level', formatLogFilter(next)])
          warnOfUnknownModules(log)
        }
        // Sent even if nothing changed here: an earlier broadcast may have failed for a process.
        const problems = await broadcast(formatLogFilter(next))
        sendText(response, problems.length === 0 ? 200 : 502, [current(), ...problems].join('\n'))
      },
    },
  }
}

/** §4.2: `level` sets the filter, so it replaces the current one; null if a part of `wanted` is invalid. */
function findNextFilter(
  log: Log,
  query: URLSearchParams,
  wanted: readonly string[],
): LogFilter | null {
  const current = query.has('level') ? undefined : log.filter
  let next: LogFilter | undefined = query.has('reset') ? log.initialFilter : current
  for (const text of wanted.map((part) => part.toLowerCase())) {
    if (isTooLong(text) || checkLogFilter(text) !== undefined) return null
    next = parseLogFilter(text, next)
  }
  return next === undefined || next.size > MAX_DIRECTIVES ? null : next
}

/** An unknown module is most likely a typing error. */
function warnOfUnknownModules(log: Log): void {
  const known: ReadonlySet<string> = new Set(['', ...LOG_MODULES])
  const unknown = [...log.filter.keys()].filter((module) => !known.has(module))
  if (unknown.length > 0)
    log.write('warn', 'admin', 'unknown log modules', [
      'modules',
      unknown.join(),
      'known',
      LOG_MODULES.join(),
    ])
}

function isTooLong(text: string): boolean {
  return text.length > MAX_LEVEL_CHARS
}

function clipText(text: string): string {
  return isTooLong(text) ? `${text.slice(0, MAX_LEVEL_CHARS)}…` : text
}
