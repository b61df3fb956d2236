// How many files and sockets the process may have open, and how near it is to that. The system gives the lowest number
// that is free, so the number of a new socket tells how many are open at least, without counting them.

import { readdirSync, readFileSync, statSync } from 'node:fs'

const OPEN = '/proc/self/fd'

/** Kept free for backends, children, files and those who hear why they are refused: this part of all, or so many. */
const RESERVED_PART = 0.05
const RESERVED = 64
/** Of a limit so small that this were too much. */
const RESERVED_AT_MOST = 0.25

export class FileDescriptors {
  /** Infinity where the system does not say. */
  readonly limit: number
  readonly #shedAt: number

  constructor(limit = readDescriptorLimit()) {
    this.limit = limit
    const some = Math.min(RESERVED, Math.floor(limit * RESERVED_AT_MOST))
    this.#shedAt = limit - Math.max(some, Math.floor(limit * RESERVED_PART))
  }

  /** Of this process; -1 where the system does not say. For who looks now and then: it may have to count them. */
  get openCount(): number {
    try {
      // Linux tells it as the size of the folder from 6.2 on.
      return statSync(OPEN).size || readdirSync(OPEN).length
    } catch {
      return -1
    }
  }

  /** Whether one of this number leaves too few for the rest. */
  leavesTooFew(descriptor: number): boolean {
    return descriptor >= this.#shedAt
  }
}

/** What is told to whom that matters. */
export const OUT_OF_DESCRIPTORS_MESSAGE = 'out of file descriptors (ulimit -n)'

/** Of the process, or of the whole system. */
export function isOutOfDescriptors(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

/** Node has raised the soft limit to the hard one by now. */
function readDescriptorLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
