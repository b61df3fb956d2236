// The messages between the supervisor and its workers: the names that they are sent under, and their shapes.

/** Request of a worker: the configuration to serve with, a `WorkerConfig`. */
export const CONFIG_MESSAGE = 'workers.config'

/** From a worker: it is ready to serve. */
export const READY_MESSAGE = 'workers.ready'

/** Request of a worker: why it cannot start. The answer confirms that the message arrived. */
export const FAILED_MESSAGE = 'workers.failed'

/** To a worker: stop, with a `DrainMode`. */
export const STOP_MESSAGE = 'workers.stop'

/** Request of a worker: it has stopped, and its counts can be read for the last time. */
export const STOPPED_MESSAGE = 'workers.last-words'

/** Request to a worker: load this configuration; answered when it is in force. */
export const RELOAD_MESSAGE = 'workers.reload'

/** Request to a worker: answer, to show that it does not hang. */
export const ALIVE_MESSAGE = 'workers.alive'

/** From a worker: the pid of a child process that leads a process group, when it starts and when it has ended. */
export const CHILD_STARTED_MESSAGE = 'workers.child'
export const CHILD_ENDED_MESSAGE = 'workers.childless'

/** Request of a worker: open this port; answered with an `OpenPortAnswer`. */
export const OPEN_PORT_MESSAGE = 'workers.open'

/** From a worker: the key of a port that it no longer serves. */
export const CLOSE_PORT_MESSAGE = 'workers.close'

/** To a worker: a `ConnectionDelivery` with the connection. The worker returns its number in one of the next two messages. */
export const CONNECTION_MESSAGE = 'workers.connection'
export const CONNECTION_TAKEN_MESSAGE = 'workers.taken'
export const CONNECTION_REFUSED_MESSAGE = 'workers.refused'

/** A connection that is sent to a worker. */
export interface ConnectionDelivery {
  /** The key of the port that accepted it. */
  readonly key: string
  readonly number: number
}

export interface WorkerId {
  /** From 1; a worker that replaces another takes its slot. */
  readonly slot: number
  /** Increases with each worker of the slot. */
  readonly epoch: number
}

/** The sockets on which the supervisor asks a worker. */
export interface WorkerEndpoints extends WorkerId {
  readonly pid: number
  /** Paths of unix sockets. */
  readonly admin: string
  readonly stats: string
}

// Messages about connections that one worker hands over to another, sent as JSON with the connection attached.

/** From a worker: it accepts connections from now on. */
export const HANDOVER_JOIN = 'giving.join'

/** From a worker: it accepts no more connections. */
export const HANDOVER_LEAVE = 'giving.leave'

/** To every worker: the names of all workers that accept connections. */
export const HANDOVER_PEERS = 'giving.peers'

/** From a worker: a `HandoverMessage` with the connection. `HANDOVER_DONE` with its number follows when it was accepted or lost. */
export const HANDOVER_OFFER = 'giving.give'
export const HANDOVER_DONE = 'giving.given'

/** To the target worker, or back to the sender if the target is gone. `HANDOVER_ACCEPTED` with its number follows. */
export const HANDOVER_DELIVER = 'giving.take'
export const HANDOVER_ACCEPTED = 'giving.taken'

export interface HandoverMessage {
  readonly number: number
  /** The target worker. */
  readonly to: string
  /** The port of the configuration that accepted the connection. */
  readonly port: number
  /** Bytes that were read and not processed, in base64. */
  readonly unread: string
  /** How often the connection was handed over, including this time. Workers of another version read this name. */
  readonly moves: number
}
