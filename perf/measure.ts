// What a measure is: one round against one peer, the columns it fills, the load it needs.
import type { Options } from './options.ts'
import type { PeerName } from './peers.ts'
import type { Running } from './process.ts'
import type { Sample } from './stats.ts'

export type Column = { key: string; title: string; digits: number }

export type Subject = { name: PeerName; proxy: Running; options: Options; folder: string }

export type Measure = {
  title: string
  columns: readonly Column[]
  /** The column whose spread over the rounds tells how noisy the run was. */
  leading: string
  /** Whether every round needs a process of its own, as weighing memory does. */
  fresh: boolean
  /** Whether it says anything about the backend without a proxy. */
  direct: boolean
  round: (subject: Subject) => Promise<Sample>
}
