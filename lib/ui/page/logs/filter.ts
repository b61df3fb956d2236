// Which lines of the log somebody wants to see.

import type { LogLine } from '../../../admin/page-api/page-api-types.ts'

export const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const

export interface Wanted {
  /** Each of its words is somewhere in the line, in any case. */
  readonly text: string
  /** And all that is worse; empty for any. */
  readonly level: string
  /** Empty for any. */
  readonly module: string
}

export function wants({ text, level, module }: Wanted): (line: LogLine) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = LEVELS.indexOf(level as LogLine['level'])
  return (line) => {
    if (rank >= 0 && LEVELS.indexOf(line.level) > rank) return false
    if (module !== '' && line.module !== module) return false
    if (words.length === 0) return true
    const all = textOf(line).toLowerCase()
    return words.every((word) => all.includes(word))
  }
}

/** As it would stand in a file. */
function textOf({ level, module, message, fields }: LogLine): string {
  const pairs = fields.map(([name, value]) => `${name}=${value}`)
  return [level, module, message, ...pairs].join(' ')
}
