// How many streams can be held open here: what the targets ask for, or as many as the limit of files lets a proxy have.
import { readFileSync } from 'node:fs'

const WANTED = 10_000
/** One to the client and one to the backend. */
const FILES_EACH = 2
/** Of all, what the gateway keeps for itself before it refuses clients. */
const RESERVED_PART = 0.05
/** For what else a proxy has open, the traffic beside the streams included. */
const OTHERS = 200
const STEP = 100

/** Infinity where the system does not say. Whoever is started here has the same. */
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
