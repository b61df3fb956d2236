// The text that says how much is logged: `info`, or `info,accept=debug` with a level of its own per module.

import { nearest } from './nearest.ts'

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const
const DIRECTIVE = /^(?:([\w./-]+)=)?(\w*)$/

/** What is wrong with a filter, if anything. */
export function checkFilter(text: string): string | undefined {
  for (const directive of text.split(',')) {
    const parts = DIRECTIVE.exec(directive.trim())
    if (parts === null)
      return `got '${text}', expected a level or a filter such as info,accept=debug`
    const level = parts[2]!
    if ((LEVELS as readonly string[]).includes(level)) continue
    const meant = nearest(level, LEVELS)
    const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
    return `got level '${level}', expected one of ${LEVELS.join(', ')}${hint}`
  }
  return undefined
}
