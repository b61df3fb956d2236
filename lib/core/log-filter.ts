// Parses log filters: `info`, or `info,accept=debug` with a level per module.

import { nearest } from '../text/nearest-name.ts'

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const
/** Logs nothing; accepted, but not offered in error messages. */
const OFF = 'off'
/** Two colons in a module name are paths of other programs: such a module does not exist here, but is no error. */
const DIRECTIVE = /^(?:([\w./:-]+)=)?(\w*)$/

export type LoggingLevel = (typeof LEVELS)[number]

/** Levels by module, in the order given; '' is every other module. */
export type LogFilter = ReadonlyMap<string, LoggingLevel | typeof OFF>

/** Returns what is wrong with a filter, or undefined. */
export function checkLogFilter(text: string): string | undefined {
  for (const directive of text.split(',')) {
    const parts = DIRECTIVE.exec(directive.trim())
    if (parts === null)
      return `got '${text}', expected a level or a filter such as info,accept=debug`
    const level = parts[2]!
    if (level === OFF || (LEVELS as readonly string[]).includes(level)) continue
    const suggestion = nearest(level, LEVELS)
    const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
    return `got level '${level}', expected one of ${LEVELS.join(', ')}${hint}`
  }
  return undefined
}

/** `text` has been checked; `base` applies where the text sets nothing. */
export function parseLogFilter(text: string, base: LogFilter = new Map([['', 'info']])): LogFilter {
  const filter = new Map(base)
  for (const directive of text.split(',')) {
    const [, module = '', level] = DIRECTIVE.exec(directive.trim()) ?? []
    if (level !== undefined) filter.set(module, level as LoggingLevel)
  }
  return filter
}

/** The level of all other modules comes first. */
export function formatLogFilter(filter: LogFilter): string {
  return [...filter].map(([module, level]) => (module === '' ? level : `${module}=${level}`)).join()
}
