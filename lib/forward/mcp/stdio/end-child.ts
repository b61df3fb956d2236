// How a child and all its descendants end: its input is closed, then SIGTERM, then SIGKILL, each after a grace and to
// the whole process group, for wrappers such as npx leave the real server behind when they alone are killed.

export interface GracePeriods {
  /** From the end of its input to SIGTERM. */
  readonly stdin: number
  /** From SIGTERM to SIGKILL. */
  readonly term: number
  /** How long the output of a child that has exited may go on: something it started may hold it open. */
  readonly drain: number
}

export const GRACE_PERIODS: GracePeriods = { stdin: 2_000, term: 3_000, drain: 500 }

/** A process that SIGKILL does not end in this time sits in the kernel, and nobody can do more. */
const KILL_WAIT_MS = 1_000

/** How often a group whose leader is gone is looked at. Its number may be given away once it is empty. */
const GROUP_POLL_MS = 50

/** `asked`: its input was closed. `told`: SIGTERM was sent. `killed`: SIGKILL was. */
type ChildTerminationState = 'alive' | 'asked' | 'told' | 'killed' | 'over'

const CHILD_TERMINATION_TRANSITIONS: Record<
  ChildTerminationState,
  readonly ChildTerminationState[]
> = {
  alive: ['asked', 'told', 'killed', 'over'],
  asked: ['told', 'killed', 'over'],
  told: ['killed', 'over'],
  killed: ['over'],
  over: [],
}

export class ChildTermination {
  /** Of the leader, and of the group. */
  readonly #pid: number
  readonly #graces: GracePeriods
  readonly #over: () => void
  #state: ChildTerminationState = 'alive'
  #leader: 'here' | 'gone' = 'here'
  /** Both are ref'd: our process waits for what it started. */
  #timer: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined

  /** `over` is told once: nobody is left, or SIGKILL was sent and nothing more can be done. */
  constructor(pid: number, graces: GracePeriods, over: () => void) {
    this.#pid = pid
    this.#graces = graces
    this.#over = over
  }

  /** The caller has closed its input. */
  inputClosed(): void {
    if (this.#state !== 'alive') return
    this.#move('asked')
    this.#timer = setTimeout(() => this.#sendTerm(), this.#graces.stdin)
  }

  /** At once, and without a grace. */
  kill(): void {
    if (this.#state === 'killed' || this.#state === 'over') return
    this.#move('killed')
    clearTimeout(this.#timer)
    signalGroup(this.#pid, 'SIGKILL')
    if (this.#leader === 'gone') return this.#finish()
    this.#timer = setTimeout(() => this.#finish(), KILL_WAIT_MS)
  }

  /** The leader has exited; whoever it left behind ends too. */
  leaderExited(): void {
    this.#leader = 'gone'
    if (this.#state === 'over') return
    if (this.#state === 'killed' || !signalGroup(this.#pid, 0)) return this.#finish()
    if (this.#state !== 'told') this.#sendTerm()
    this.#poll = setInterval(() => {
      if (!signalGroup(this.#pid, 0)) this.#finish()
    }, GROUP_POLL_MS)
  }

  #sendTerm(): void {
    this.#move('told')
    clearTimeout(this.#timer)
    signalGroup(this.#pid, 'SIGTERM')
    this.#timer = setTimeout(() => this.kill(), this.#graces.term)
  }

  #finish(): void {
    this.#move('over')
    clearTimeout(this.#timer)
    clearInterval(this.#poll)
    this.#over()
  }

  #move(to: ChildTerminationState): void {
    if (!CHILD_TERMINATION_TRANSITIONS[this.#state].includes(to))
      throw new Error(`ending: ${this.#state} → ${to}`)
    this.#state = to
  }
}

/** False when nobody is there, or nobody we may send to. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
