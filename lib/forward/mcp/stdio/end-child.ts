// Ends a child and its descendants: closes its stdin, then sends SIGTERM, then SIGKILL, each after a grace period. The
// signals go to the whole process group, because wrappers such as npx do not pass them to the real server.

export interface GracePeriods {
  /** From the end of its stdin to SIGTERM. */
  readonly stdin: number
  /** From SIGTERM to SIGKILL. */
  readonly term: number
  /** How long the output of an exited child is read: a descendant may hold the pipe open. */
  readonly drain: number
}

export const GRACE_PERIODS: GracePeriods = { stdin: 2_000, term: 3_000, drain: 500 }

/** A process that survives SIGKILL for this long is stuck in the kernel and cannot be ended. */
const KILL_WAIT_MS = 1_000

/** Interval to check a group whose leader has exited. The system may reuse its id once it is empty. */
const GROUP_POLL_MS = 50

/** `inputClosed`: stdin was closed. `termSent`: SIGTERM was sent. `killSent`: SIGKILL was sent. */
type ChildTerminationState = 'alive' | 'inputClosed' | 'termSent' | 'killSent' | 'over'

const CHILD_TERMINATION_TRANSITIONS: Record<
  ChildTerminationState,
  readonly ChildTerminationState[]
> = {
  alive: ['inputClosed', 'termSent', 'killSent', 'over'],
  inputClosed: ['termSent', 'killSent', 'over'],
  termSent: ['killSent', 'over'],
  killSent: ['over'],
  over: [],
}

export class ChildTermination {
  /** The id of the leader and of the process group. */
  readonly #pid: number
  readonly #gracePeriods: GracePeriods
  readonly #onOver: () => void
  #state: ChildTerminationState = 'alive'
  #leader: 'running' | 'exited' = 'running'
  /** Both timers are ref'd: the gateway waits for its children to end. */
  #timer: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined

  /** `onOver` is called once: the group is empty, or SIGKILL did not end it. */
  constructor(pid: number, gracePeriods: GracePeriods, onOver: () => void) {
    this.#pid = pid
    this.#gracePeriods = gracePeriods
    this.#onOver = onOver
  }

  /** The caller has closed the child's stdin. */
  inputClosed(): void {
    if (this.#state !== 'alive') return
    this.#move('inputClosed')
    this.#timer = setTimeout(() => this.#sendTerm(), this.#gracePeriods.stdin)
  }

  /** Sends SIGKILL at once. */
  kill(): void {
    if (this.#state === 'killSent' || this.#state === 'over') return
    this.#move('killSent')
    clearTimeout(this.#timer)
    signalGroup(this.#pid, 'SIGKILL')
    if (this.#leader === 'exited') return this.#finish()
    this.#timer = setTimeout(() => this.#finish(), KILL_WAIT_MS)
  }

  /** The leader has exited: ends the rest of its group. */
  leaderExited(): void {
    this.#leader = 'exited'
    if (this.#state === 'over') return
    if (this.#state === 'killSent' || !signalGroup(this.#pid, 0)) return this.#finish()
    if (this.#state !== 'termSent') this.#sendTerm()
    this.#poll = setInterval(() => {
      if (!signalGroup(this.#pid, 0)) this.#finish()
    }, GROUP_POLL_MS)
  }

  #sendTerm(): void {
    this.#move('termSent')
    clearTimeout(this.#timer)
    signalGroup(this.#pid, 'SIGTERM')
    this.#timer = setTimeout(() => this.kill(), this.#gracePeriods.term)
  }

  #finish(): void {
    this.#move('over')
    clearTimeout(this.#timer)
    clearInterval(this.#poll)
    this.#onOver()
  }

  #move(to: ChildTerminationState): void {
    if (!CHILD_TERMINATION_TRANSITIONS[this.#state].includes(to))
      throw new Error(`child termination: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** Returns false if the group is empty or may not be signalled. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
