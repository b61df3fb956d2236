// Restart without a lost request, for a gateway in one process: a successor is started, given the sockets that are open,
// and has them alone once it serves. One that cannot start changes nothing.

import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { unblockStdout } from '../core/log.ts'
import { ListeningSockets } from '../core/listening-sockets.ts'

/** A variable of the environment: which socket has which number. Taken out before anybody else could be given it. */
const SOCKETS_VARIABLE = 'GATEWAY_SOCKETS'
const SERVING_MESSAGE = 'serves'

/** Standard input, output, errors, and the channel come first. */
const FIRST_FD = 4

/** A successor that does not serve after this never will. */
const START_DEADLINE = 60_000
const KILL_GRACE = 5_000

/** What the process before this one left; null when there was none. */
export interface Predecessor {
  readonly sockets: ListeningSockets
  /** Lets it leave. `gone` is called when it has. */
  release(gone: () => void): void
}

export function takeOverSockets(env = process.env): Predecessor | null {
  const text = env[SOCKETS_VARIABLE]
  delete env[SOCKETS_VARIABLE]
  if (text === undefined) return null
  const sockets = new ListeningSockets(Object.entries(JSON.parse(text) as Record<string, number>))
  process.channel?.unref()
  const served = (gone: () => void): void => {
    sockets.closeUnusedInherited()
    process.once('disconnect', gone)
    if (process.connected) process.send?.(SERVING_MESSAGE, undefined, {}, () => {})
    else gone()
  }
  return { sockets, release: served }
}

export class Successor {
  readonly pid: number | undefined
  /** Rejects when it cannot serve; then it is gone or leaving. */
  readonly ready: Promise<void>
  readonly #child: ChildProcess
  readonly #ended: Promise<void>

  /** `input` is what it finds on standard input; null for nothing. */
  constructor(sockets: ListeningSockets, input: string | null, deadline = START_DEADLINE) {
    this.#child = spawnSuccessor(sockets.descriptors, input)
    this.pid = this.#child.pid
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.once('error', () => resolve())
    })
    this.ready = this.#whenReady(deadline)
  }

  /** Resolves when it has ended: it may have connections already, and may be stuck. */
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
          reject(new Error(`the successor ended with ${signal ?? `code ${code}`}`)),
        )
        timer = setTimeout(() => {
          void this.end()
          reject(new Error(`the successor does not serve after ${deadline} ms`))
        }, deadline)
      })
    } finally {
      clearTimeout(timer)
      // This process does not wait for it; by the channel it hears when this one is gone.
      child.unref()
      child.channel?.unref()
    }
  }
}

function spawnSuccessor(descriptors: ReadonlyMap<string, number>, input: string | null) {
  const numbers = [...descriptors.keys()].map((key, index) => [key, FIRST_FD + index])
  const env = { ...process.env, [SOCKETS_VARIABLE]: JSON.stringify(Object.fromEntries(numbers)) }
  const first = input === null ? 'ignore' : 'pipe'
  const stdio: StdioOptions = [first, 'inherit', 'inherit', 'ipc', ...descriptors.values()]
  const words = [...process.execArgv, ...process.argv.slice(1)]
  const child = spawn(process.execPath, words, { env, stdio })
  unblockStdout()
  child.stdin?.on('error', () => {}).end(input)
  return child
}
