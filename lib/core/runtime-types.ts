// Types of the runtime state that the web page reads as they are: they depend on nothing of Node.

/** The first entries of a list, and how many more there are. */
export interface LimitedList<T> {
  readonly shown: readonly T[]
  readonly more: number
}

export interface SessionView {
  /** Enough to tell sessions apart, too little to use one. */
  readonly id: string
  readonly state: string
  readonly age: number
  readonly idle: number
  readonly calls: number
  readonly channels: number
  readonly targets: readonly { readonly name: string; readonly state: string }[]
  /** The worker that has it, if there are several. */
  readonly worker?: number
}

/** A child process. */
export interface ChildProcessState {
  readonly pid: number
  readonly target: string
  readonly session: string
  readonly state: string
  readonly age: number
  /** Null where the system does not report it. */
  readonly rss: number | null
  readonly lastStderr: readonly string[]
  /** The worker that has it, if there are several. */
  readonly worker?: number
}
