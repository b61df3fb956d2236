// The text that says how much is logged: `info`, or `info,accept=debug` with a level of its own per module.

import { nearest } from '../text/nearest-name.ts'

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const
/** Nothing at all; understood, but nobody is told to write it. */
const OFF = 'off'
/** Two colons in a module's name are how others write paths; such a module is none of ours, and no fault. */
const DIRECTIVE = /^(?:([\w./:-]+)=)?(\w*)$/

export type LoggingLevel = (typeof LEVELS)[number]

/** By module; '' is everything else. In the order in which they were said. */
export type LogFilter = ReadonlyMap<string, LoggingLevel | typeof OFF>

/** What is wrong with a filter, if anything. */
export function checkLogFilter(text: string): string | undefined {
  for (const directive of text.split(',')) {
    const parts = DIRECTIVE.exec(directive.trim())
    if (parts === null)
      return `got '${text}', expected a level or a filter such as info,accept=debug`
    const level = parts[2]!
    if (level === OFF || (LEVELS as readonly string[]).includes(level)) continue
    const meant = nearest(level, LEVELS)
    const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
    return `got level '${level}', expected one of ${LEVELS.join(', ')}${hint}`
  }
  return undefined
}

/** Of a text that was checked; `base` holds where the text says nothing. */
export function parseLogFilter(text: string, base: LogFilter = new Map([['', 'info']])): LogFilter {
  const filter = new Map(base)
  for (const directive of text.split(',')) {
    const [, module = '', level] = DIRECTIVE.exec(directive.trim()) ?? []
    if (level !== undefined) filter.set(module, level as LoggingLevel)
  }
  return filter
}

/** The level of everything else first. */
export function formatLogFilter(filter: LogFilter): string {
  return [...filter].map(([module, level]) => (module === '' ? level : `${module}=${level}`)).join()
}
