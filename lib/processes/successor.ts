// Restart of a gateway in one process without a lost request: a successor process gets the open sockets and takes over
// once it serves. If it cannot start, nothing changes.

import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { unblockStdout } from '../core/log.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'

/** Environment variable that maps sockets to file descriptors; deleted at once, so no child process inherits it. */
const SOCKETS_VARIABLE = 'GATEWAY_SOCKETS'
const SERVING_MESSAGE = 'serves'

/** Descriptors 0 to 3 are standard input, output, errors and the channel. */
const FIRST_FD = 4

/** After this time a successor counts as failed. */
const START_DEADLINE = 60_000
const KILL_GRACE = 5_000

/** The process that this one replaces. */
export interface Predecessor {
  readonly sockets: ListeningSockets
  /** Lets the predecessor exit; `gone` is called when it has. */
  release(gone: () => void): void
}

/** Null when this process replaces no other. */
export function takeOverSockets(env = process.env): Predecessor | null {
  const text = env[SOCKETS_VARIABLE]
  delete env[SOCKETS_VARIABLE]
  if (text === undefined) return null
  const sockets = new ListeningSockets(Object.entries(JSON.parse(text) as Record<string, number>))
  process.channel?.unref()
  const release = (gone: () => void): void => {
    sockets.closeUnusedInherited()
    process.once('disconnect', gone)
    if (process.connected) process.send?.(SERVING_MESSAGE, undefined, {}, () => {})
    else gone()
  }
  return { sockets, release }
}

export class Successor {
  readonly pid: number | undefined
  /** Rejects when the successor cannot serve; then it has ended or is ending. */
  readonly ready: Promise<void>
  readonly #child: ChildProcess
  readonly #ended: Promise<void>

  /** `input` becomes its standard input; null for none. */
  constructor(sockets: ListeningSockets, input: string | null, deadline = START_DEADLINE) {
    this.#child = spawnSuccessor(sockets.descriptors, input)
    this.pid = this.#child.pid
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.once('error', () => resolve())
    })
    this.ready = this.#whenReady(deadline)
  }

  /** Resolves when the process has ended. It may have connections already, and may hang. */
  async end(grace = KILL_GRACE): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), grace)
    await this.#ended
    clearTimeout(timer)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #whenReady(deadline: number): Promise<void> {
    const child = this.#child
    let timer: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('message', () => resolve())
        child.once('error', reject)
        child.once('exit', (code, signal) =>
          reject(new Error(`the successor exited with ${signal ?? `code ${code}`}`)),
        )
        timer = setTimeout(() => {
          void this.end()
          reject(new Error(`the successor did not serve within ${deadline} ms`))
        }, deadline)
      })
    } finally {
      clearTimeout(timer)
      // Must not keep this process alive. The channel closes when this process ends, which the successor notices.
      child.unref()
      child.channel?.unref()
    }
  }
}

function spawnSuccessor(descriptors: ReadonlyMap<string, number>, input: string | null) {
  const numbers = [...descriptors.keys()].map((key, index) => [key, FIRST_FD + index])
  const env = { ...process.env, [SOCKETS_VARIABLE]: JSON.stringify(Object.fromEntries(numbers)) }
  const stdin = input === null ? 'ignore' : 'pipe'
  const stdio: StdioOptions = [stdin, 'inherit', 'inherit', 'ipc', ...descriptors.values()]
  const args = [...process.execArgv, ...process.argv.slice(1)]
  const child = spawn(process.execPath, args, { env, stdio })
  unblockStdout()
  child.stdin?.on('error', () => {}).end(input)
  return child
}
