// What a supervisor and its workers say to each other over their link, by the name that it travels under.

/** From a worker, asked: what it shall serve with, a `WrittenInForce`. */
export const CONFIG = 'workers.config'

/** From a worker: it serves. */
export const READY = 'workers.ready'

/** From a worker, asked: the reason why it cannot. The answer is that it was heard. */
export const FAILED = 'workers.failed'

/** To a worker: a `Manner`. */
export const STOP = 'workers.stop'

/** From a worker, asked: it has stopped, and what it counted can be read for the last time. */
export const LAST_WORDS = 'workers.last-words'

/** To a worker, asked: a configuration as it was written; answered when it is in force. */
export const RELOAD = 'workers.reload'

/** To a worker, asked: whether it still does anything at all. */
export const ALIVE = 'workers.alive'

/** From a worker: the number of a child process that leads a group, as it begins and when it is over. */
export const CHILD = 'workers.child'
export const CHILDLESS = 'workers.childless'

/** From a worker, asked: a port to be opened for it; an `OpenAnswer`. */
export const OPEN = 'workers.open'

/** From a worker: the key of a port that it serves no longer. */
export const CLOSE = 'workers.close'

/** To a worker: a `Delivery`, and the connection. Its number comes back in one of the two words below it. */
export const CONNECTION = 'workers.connection'
export const CONNECTION_TAKEN = 'workers.taken'
export const CONNECTION_REFUSED = 'workers.refused'

/** A connection on its way to a worker. */
export interface Delivery {
  /** Of the port it came in by. */
  readonly key: string
  readonly number: number
}
