// What a supervisor and its workers say to each other over their link, by the name that it travels under.

/** From a worker, asked: what it shall serve with, a `WorkerConfig`. */
export const CONFIG_MESSAGE = 'workers.config'

/** From a worker: it serves. */
export const READY_MESSAGE = 'workers.ready'

/** From a worker, asked: the reason why it cannot. The answer is that it was heard. */
export const FAILED_MESSAGE = 'workers.failed'

/** To a worker: a `DrainMode`. */
export const STOP_MESSAGE = 'workers.stop'

/** From a worker, asked: it has stopped, and what it counted can be read for the last time. */
export const STOPPED_MESSAGE = 'workers.last-words'

/** To a worker, asked: a configuration as it was written; answered when it is in force. */
export const RELOAD_MESSAGE = 'workers.reload'

/** To a worker, asked: whether it still does anything at all. */
export const ALIVE_MESSAGE = 'workers.alive'

/** From a worker: the number of a child process that leads a group, as it begins and when it is over. */
export const CHILD_STARTED_MESSAGE = 'workers.child'
export const CHILD_ENDED_MESSAGE = 'workers.childless'

/** From a worker, asked: a port to be opened for it; an `OpenPortAnswer`. */
export const OPEN_PORT_MESSAGE = 'workers.open'

/** From a worker: the key of a port that it serves no longer. */
export const CLOSE_PORT_MESSAGE = 'workers.close'

/** To a worker: a `ConnectionDelivery`, and the connection. Its number comes back in one of the two words below it. */
export const CONNECTION_MESSAGE = 'workers.connection'
export const CONNECTION_TAKEN_MESSAGE = 'workers.taken'
export const CONNECTION_REFUSED_MESSAGE = 'workers.refused'

/** A connection on its way to a worker. */
export interface ConnectionDelivery {
  /** Of the port it came in by. */
  readonly key: string
  readonly number: number
}

// How the processes of one gateway are told apart.

export interface WorkerId {
  /** From 1; a worker that replaces another takes its slot. */
  readonly slot: number
  /** Never the same twice for a slot. */
  readonly epoch: number
}

/** Where a worker can be asked what one process would be asked. */
export interface WorkerEndpoints extends WorkerId {
  readonly pid: number
  /** Paths of unix sockets. */
  readonly admin: string
  readonly stats: string
}

// What workers and their supervisor say when a connection goes from one worker to another. Shapes only: they travel as JSON,
// with the connection beside them.

/** A worker can be given connections from now on. */
export const HANDOVER_JOIN = 'giving.join'

/** And from now on no longer: what it had to answer is answered. */
export const HANDOVER_LEAVE = 'giving.leave'

/** To every worker: the names of all that can. */
export const HANDOVER_PEERS = 'giving.peers'

/** From a worker: a `Given`, and the connection. `HANDOVER_DONE` with its number follows when it was taken, or never will be. */
export const HANDOVER_OFFER = 'giving.give'
export const HANDOVER_DONE = 'giving.given'

/** To a worker: the same, for another one or, when that is gone, its own. `TAKEN` with its number follows. */
export const HANDOVER_DELIVER = 'giving.take'
export const HANDOVER_ACCEPTED = 'giving.taken'

export interface HandoverMessage {
  readonly number: number
  /** The worker it is for. */
  readonly to: string
  /** The port it came in by, as the configuration has it. */
  readonly port: number
  /** What was read of it and not answered, in base64. */
  readonly unread: string
  /** How often it changed hands, this time included. */
  readonly handoverCount: number
}
