// What a measure is: one round against one peer, the columns it fills, the load it needs.
import type { Options } from './options.ts'
import type { Peer, PeerName } from './peers.ts'
import type { Cpu, Running } from './process.ts'
import type { Sample } from './stats.ts'

export type Column = { key: string; title: string; digits: number }

/** For `direct` this is the backend; MCP measures start their own server there. */
export type Subject = {
  name: PeerName
  proxy: Running
  /** Header lines for a peer that needs the backend in each request. */
  backendPort: number
  options: Options
  folder: string
}

export type Measure = {
  title: string
  /** Which peers it compares. */
  speaks: Peer['speaks']
  columns: readonly Column[]
  /** The column whose spread over the rounds shows how noisy the run was. */
  leading: string
  /** Measures memory: each round in a new process. Otherwise all peers run at once and take turns. */
  fresh: boolean
  /** A backend other than backend.ts; it gets its port and the folder of the run. */
  backend?: string
  /** Compiles a peer's hot code before the first round; by default a share of a round. */
  rehearse?: (subject: Subject) => Promise<void>
  round: (subject: Subject) => Promise<Sample>
}

/** CPU time between two readings: per unit of work, as a share of a core, and what a full core could do. */
export function cpuSpent(readings: readonly Cpu[], work: number, seconds: number): Sample {
  const [before, after] = [readings[0], readings.at(-1)]
  if (before === undefined || after === undefined) return {}
  const total = after.total - before.total
  return {
    cpu: total / work,
    user: (after.user - before.user) / work,
    busy: total / seconds / 1e4,
    capacity: (work / total) * 1e6,
  }
}
