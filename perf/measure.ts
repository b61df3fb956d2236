// What a measure is: one round against one peer, the columns it fills, the load it needs.
import type { Options } from './options.ts'
import type { Peer, PeerName } from './peers.ts'
import type { Cpu, Running } from './process.ts'
import type { Sample } from './stats.ts'

export type Column = { key: string; title: string; digits: number }

/** `direct` has the backend in the proxy's place; MCP measures start a server of their own there. */
export type Subject = {
  name: PeerName
  proxy: Running
  /** For a peer that is told by each request where to forward it. */
  backendPort: number
  options: Options
  folder: string
}

export type Measure = {
  title: string
  /** Which peers it compares. */
  speaks: Peer['speaks']
  columns: readonly Column[]
  /** The column whose spread over the rounds tells how noisy the run was. */
  leading: string
  /** Weighs memory: each round in a new process. Otherwise the peers race, all started at once. */
  fresh: boolean
  /** Another backend than backend.ts, which is told its port and the folder of the run. */
  backend?: string
  /** Compiles a peer's hot code before the first round; a quarter of a round where it is not said how. */
  rehearse?: (subject: Subject) => Promise<void>
  round: (subject: Subject) => Promise<Sample>
}

/** Processor time between two readings: per unit of work, as a share of a core, and what a core could do. */
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
