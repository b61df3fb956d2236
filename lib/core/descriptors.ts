// The limit of open file descriptors, and how near the process is to it. The system assigns the lowest free number,
// so the number of a new socket is a lower bound of the open ones, without counting.

import { readdirSync, readFileSync, statSync } from 'node:fs'

const OPEN = '/proc/self/fd'

/** Reserved for backends, children, files and refusals: this share of the limit, but at least this many. */
const RESERVED_PART = 0.05
const RESERVED = 64
/** The share of a small limit that the reserve never exceeds. */
const MAX_RESERVED_PART = 0.25

export class FileDescriptors {
  /** Infinity where the system does not report it. */
  readonly limit: number
  readonly #shedAt: number

  constructor(limit = readDescriptorLimit()) {
    this.limit = limit
    const minReserve = Math.min(RESERVED, Math.floor(limit * MAX_RESERVED_PART))
    this.#shedAt = limit - Math.max(minReserve, Math.floor(limit * RESERVED_PART))
  }

  /** The open descriptors of this process; -1 where the system does not report them. It may have to count them. */
  get openCount(): number {
    try {
      // From Linux 6.2 on, the size of the folder is the count.
      return statSync(OPEN).size || readdirSync(OPEN).length
    } catch {
      return -1
    }
  }

  /** Whether a descriptor with this number is in the reserve. */
  leavesTooFew(descriptor: number): boolean {
    return descriptor >= this.#shedAt
  }
}

/** The text for clients and the log. */
export const OUT_OF_DESCRIPTORS_MESSAGE = 'out of file descriptors (ulimit -n)'

/** True for the limit of the process and that of the system. */
export function isOutOfDescriptors(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EMFILE' || code === 'ENFILE'
}

/** Node has already raised the soft limit to the hard one. */
function readDescriptorLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
