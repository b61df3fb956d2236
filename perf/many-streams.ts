// How many streams can be open here: what the targets ask for, or as many as the limit of open files allows a proxy.
import { readFileSync } from 'node:fs'

const WANTED = 10_000
/** One to the client and one to the backend. */
const FILES_EACH = 2
/** The share of descriptors that the gateway reserves before it refuses clients. */
const RESERVED_PART = 0.05
/** Descriptors for other files and connections of a proxy, including the traffic next to the streams. */
const OTHERS = 200
const STEP = 100

/** Infinity where the system does not report it. Processes started here inherit the same limit. */
function filesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}

export function manyStreams(limit = filesLimit()): number {
  const most = (limit * (1 - RESERVED_PART) - OTHERS) / FILES_EACH
  return Math.min(WANTED, Math.max(STEP, Math.floor(most / STEP) * STEP))
}
