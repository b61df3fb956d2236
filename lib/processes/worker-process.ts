// A worker as the supervisor sees it: the process, the link to it, and its state.

import { fork } from 'node:child_process'
import type { ChildProcess, SendHandle } from 'node:child_process'
import { unblockStdout } from '../core/log.ts'
import { ProcessLink } from '../core/process-link.ts'
import type { DrainMode } from '../core/types.ts'
import { FAILED_MESSAGE, READY_MESSAGE, STOP_MESSAGE } from './worker-messages.ts'
import { workerSocketsOf, WORKER_VARIABLE } from './worker-context.ts'
import type { WorkerEndpoints, WorkerId } from './worker-messages.ts'

export interface WorkerOptions {
  readonly folder: string
  /** Milliseconds until the worker must serve. */
  readonly startDeadline?: number
  /** Milliseconds that a stopping worker gets in addition to its own deadline. */
  readonly killGrace?: number
  /** File and arguments of the worker; specs set others than those of this process. */
  readonly program?: readonly string[]
}

type WorkerState = 'starting' | 'ready' | 'stopping' | 'gone'

/** `code 1`, `signal SIGKILL` or the message of a failed start. */
type ExitDescription = string

/** After this time a starting worker is killed. */
const START_DEADLINE = 60_000

/** Time for a worker to end its child processes after its own deadline, before it is killed. */
const KILL_GRACE = 10_000

export class WorkerProcess {
  readonly id: WorkerId
  readonly link: ProcessLink
  /** Rejects when the worker ends before it serves. */
  readonly ready: Promise<void>
  readonly ended: Promise<ExitDescription>
  readonly since = performance.now()
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #killGrace: number
  #state: WorkerState = 'starting'
  #timer: NodeJS.Timeout

  constructor(id: WorkerId, options: WorkerOptions) {
    const { folder, startDeadline = START_DEADLINE, killGrace = KILL_GRACE } = options
    const { program = process.argv.slice(1) } = options
    this.id = id
    this.#folder = folder
    this.#killGrace = killGrace
    this.#child = forkWorker(program, JSON.stringify({ ...id, folder }))
    this.link = new ProcessLink((message, handle) => {
      // A failed send needs no report: `exit` follows.
      if (this.#child.connected) this.#child.send(message, handle, {}, () => {})
    })
    this.#child.on('message', (message, handle) =>
      this.link.receive(message, handle as SendHandle | undefined),
    )
    this.ended = this.#whenEnded()
    this.ready = this.#whenReady()
    // The rejection may have no other handler.
    this.ready.catch(() => {})
    this.#timer = setTimeout(() => this.kill(), startDeadline).unref()
  }

  get state(): WorkerState {
    return this.#state
  }

  get endpoints(): WorkerEndpoints {
    return { ...this.id, ...workerSocketsOf(this.id, this.#folder), pid: this.#child.pid ?? 0 }
  }

  /** `deadline`: milliseconds that the worker has for its running requests. */
  stop(mode: DrainMode, deadline: number): void {
    if (this.#state === 'gone') return
    this.#state = 'stopping'
    this.link.notify(STOP_MESSAGE, mode)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.kill(), deadline + this.#killGrace)
  }

  kill(): void {
    if (this.#state !== 'gone') this.#child.kill('SIGKILL')
  }

  #whenEnded(): Promise<ExitDescription> {
    return new Promise((resolve) => {
      const end = (how: ExitDescription): void => {
        this.#state = 'gone'
        clearTimeout(this.#timer)
        this.link.close()
        resolve(how)
      }
      this.#child.once('error', ({ message }) => end(message))
      this.#child.once('exit', (code, signal) =>
        end(signal === null ? `code ${code}` : `signal ${signal}`),
      )
    })
  }

  async #whenReady(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.link.on(READY_MESSAGE, () => resolve())
      this.link.on(FAILED_MESSAGE, (message) => reject(new Error(String(message))))
      void this.ended.then((how) =>
        reject(new Error(`worker ${this.id.slot} exited before it was ready: ${how}`)),
      )
    })
    clearTimeout(this.#timer)
    if (this.#state === 'starting') this.#state = 'ready'
  }
}

function forkWorker([file = '', ...args]: readonly string[], context: string): ChildProcess {
  const child = fork(file, args, {
    env: { ...process.env, [WORKER_VARIABLE]: context },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  unblockStdout()
  return child
}
