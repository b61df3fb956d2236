// What is told of a child process: how much memory it has, and what it said last.

import { readFileSync } from 'node:fs'
import type { ChildState } from './types.ts'
import type { ChildView } from './views.ts'

/** What a child said last: so many lines, and so much of each. */
const STDERR_LINES = 5
const STDERR_LETTERS = 300

export function childState({ lastStderr, ...child }: ChildView): ChildState {
  const said = lastStderr(STDERR_LINES).map((line) => line.slice(0, STDERR_LETTERS))
  return { ...child, rss: rssOf(child.pid), lastStderr: said }
}

/** Null where the system does not tell, or the process has just gone. */
function rssOf(pid: number): number | null {
  if (process.platform !== 'linux') return null
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? null : Number(found[1]) * 1024
  } catch {
    return null
  }
}
