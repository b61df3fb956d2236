// What workers and their supervisor say when a connection goes from one worker to another. Shapes only: they travel as JSON,
// with the connection beside them.

/** A worker can be given connections from now on. */
export const JOIN = 'giving.join'

/** And from now on no longer: what it had to answer is answered. */
export const LEAVE = 'giving.leave'

/** To every worker: the names of all that can. */
export const PEERS = 'giving.peers'

/** From a worker: a `Given`, and the connection. `GIVEN` with its number follows when it was taken, or never will be. */
export const GIVE = 'giving.give'
export const GIVEN = 'giving.given'

/** To a worker: the same, for another one or, when that is gone, its own. `TAKEN` with its number follows. */
export const TAKE = 'giving.take'
export const TAKEN = 'giving.taken'

export interface Given {
  readonly number: number
  /** The worker it is for. */
  readonly to: string
  /** The port it came in by, as the configuration has it. */
  readonly port: number
  /** What was read of it and not answered, in base64. */
  readonly unread: string
  /** How often it changed hands, this time included. */
  readonly moves: number
}
