// /logging: how much is logged, and more or less of it from the next line on (reference.md 7.2).

import { checkLogFilter, parseLogFilter, formatLogFilter } from '../core/log-filter.ts'
import type { EndpointTable } from './endpoint-types.ts'
import { LOG_MODULES } from '../core/log.ts'
import type { Log } from '../core/log.ts'
import { sendText } from './admin-server.ts'

/** Modules that one filter may name; a filter is read by people. */
const MAX_DIRECTIVES = 64
const MAX_LEVEL_TEXT = 1_024

const USAGE = `usage:
  GET  /logging                             reads the filter
  POST /logging?level=debug                 sets the level of all modules without one of their own
  POST /logging?level=mcp=trace             sets the level of one module
  POST /logging?level=info,mcp=debug,forward=trace
  POST /logging?reset                       back to what it was at start; with level=…, and then that
levels: off, error, warn, info, debug, trace
modules: ${LOG_MODULES.join(', ')}`

/** Tells other processes what is logged from now on; gives back who could not be told, and why. */
export type BroadcastLogLevel = (level: string) => Promise<readonly string[]>

export function createLoggingEndpoints(
  log: Log,
  tellOthers: BroadcastLogLevel = async () => [],
): EndpointTable {
  const current = (): string => `current log level is ${formatLogFilter(log.filter)}`
  return {
    '/logging': {
      GET: (_request, response) => sendText(response, 200, current()),
      POST: async (_request, response, { searchParams }) => {
        const level = searchParams.get('level')
        const base = searchParams.has('reset') ? log.initialFilter : log.filter
        const text = level?.toLowerCase() ?? ''
        const isWrong = level !== null && (isTooLong(text) || checkLogFilter(text) !== undefined)
        const next = level === null || isWrong ? base : parseLogFilter(text, base)
        if (isWrong || next.size > MAX_DIRECTIVES)
          return sendText(
            response,
            400,
            `Invalid level provided: ${clipped(level ?? '')}\n${USAGE}`,
          )
        if (formatLogFilter(next) !== formatLogFilter(log.filter)) {
          log.filter = next
          log.write('info', 'admin', 'log level set', ['level', formatLogFilter(next)])
          warnOfUnknownModules(log)
        }
        // Also when nothing is new here: it may be to one that could not be told the last time.
        const missed = await tellOthers(formatLogFilter(next))
        sendText(response, missed.length === 0 ? 200 : 502, [current(), ...missed].join('\n'))
      },
    },
  }
}

/** A name that nobody has is most likely a slip. */
function warnOfUnknownModules(log: Log): void {
  const known: ReadonlySet<string> = new Set(['', ...LOG_MODULES])
  const strange = [...log.filter.keys()].filter((module) => !known.has(module))
  if (strange.length > 0)
    log.write('warn', 'admin', 'no such modules to log', [
      'modules',
      strange.join(),
      'known',
      LOG_MODULES.join(),
    ])
}

function isTooLong(text: string): boolean {
  return text.length > MAX_LEVEL_TEXT
}

function clipped(text: string): string {
  return isTooLong(text) ? `${text.slice(0, MAX_LEVEL_TEXT)}…` : text
}
