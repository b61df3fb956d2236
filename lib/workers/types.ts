// How the processes of one gateway are told apart.

export interface WorkerId {
  /** From 1; a worker that replaces another takes its slot. */
  readonly slot: number
  /** Never the same twice for a slot. */
  readonly epoch: number
}

/** Where a worker can be asked what one process would be asked. */
export interface WorkerDoor extends WorkerId {
  readonly pid: number
  /** Paths of unix sockets. */
  readonly admin: string
  readonly stats: string
}
