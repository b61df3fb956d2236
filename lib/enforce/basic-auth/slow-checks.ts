// Checks of slow hashes, in a thread of their own that starts with the first of them.

import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

/** Checks under way and waiting: with bcrypt's usual cost, as many as two or three seconds hold. */
export const MAX_PENDING_CHECKS = 16

export interface Question {
  readonly number: number
  readonly password: string
  readonly hash: string
}

interface Answer {
  readonly number: number
  readonly isRight: boolean
}

interface Waiting {
  readonly resolve: (isRight: boolean) => void
  readonly reject: (error: Error) => void
}

export class SlowChecks {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #asked = 0

  /** Another one would have to wait too long. */
  get isFull(): boolean {
    return this.#waiting.size >= MAX_PENDING_CHECKS
  }

  async check(password: string, hash: string): Promise<boolean> {
    // Before anybody waits: one that cannot be started must not keep a place.
    const worker = (this.#worker ??= this.#start())
    const number = this.#asked++
    const answer = new Promise<boolean>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
    })
    worker.postMessage({ number, password, hash } satisfies Question)
    return answer
  }

  close(): void {
    void this.#worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(join(import.meta.dirname, 'hash-worker.js'))
    worker.unref()
    worker.on('message', ({ number, isRight }: Answer) => {
      this.#waiting.get(number)?.resolve(isRight)
      this.#waiting.delete(number)
    })
    let reason = new Error('the thread of slow checks was ended')
    worker.on('error', (error) => (reason = error))
    worker.on('exit', () => this.#ended(reason))
    return worker
  }

  /** The next check starts another. */
  #ended(reason: Error): void {
    this.#worker = null
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(reason)
  }
}
