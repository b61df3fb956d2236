// What a gateway has around it: nothing, or the other workers of which it is one.

import { openAlone } from './base/processes/open-port.ts'
import type { OpenPort } from './base/processes/open-port.ts'
import type { WorkerSeat } from './workers/seat.ts'

export interface Surroundings {
  readonly openPort: OpenPort
  /** Null in a process of its own. */
  readonly worker: WorkerSeat | null
}

export const ALONE: Surroundings = { openPort: openAlone, worker: null }
