// Asks one worker on a private socket of its. Whatever that one does, an answer or a reason is there in time.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { errorMessageOf } from '../../core/errors.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import type { WorkerEndpoints, WorkerId } from '../worker-messages.ts'

/** For a whole answer. */
const ANSWER_MS = 3_000

/** Of one answer: a dump or a heap profile of a large gateway stays well below. */
const MAX_ANSWER_BYTES = 134_217_728

export interface WorkerRequest {
  readonly method?: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  /** Milliseconds for the whole of it. */
  readonly ms?: number
  /** Ends it early: nobody waits for it any more. */
  readonly signal?: AbortSignal
}

export interface WorkerResponse {
  readonly status: number
  readonly body: Buffer
}

/** An answer of any status; rejects when there is none. */
export async function requestWorker(
  socket: string,
  question: WorkerRequest,
): Promise<WorkerResponse> {
  const parts: Buffer[] = []
  const status = await streamFromWorker(socket, question, (part) => parts.push(part))
  return { status, body: Buffer.concat(parts) }
}

/** The same for one that is read as it comes; the status, once all of it has. */
export function streamFromWorker(
  socket: string,
  { method = 'GET', path, ms = ANSWER_MS, signal }: WorkerRequest,
  take: (part: Buffer) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath: socket, method, path, agent: false })
    const late = setTimeout(() => asking.destroy(new Error(`no answer after ${ms} ms`)), ms)
    const leave = (): void => void asking.destroy(new Error('nobody waits for it any more'))
    signal?.addEventListener('abort', leave)
    const over = (settle: () => void): void => {
      clearTimeout(late)
      signal?.removeEventListener('abort', leave)
      settle()
    }
    asking.once('error', (error) => over(() => reject(error)))
    asking.once('response', (response) => {
      limitResponse(response, asking.destroy.bind(asking), take)
      response.once('end', () => over(() => resolve(response.statusCode ?? 0)))
      response.once('error', (error) => over(() => reject(error)))
    })
    asking.end()
  })
}

function limitResponse(
  response: IncomingMessage,
  destroy: (error: Error) => void,
  take: (part: Buffer) => void,
): void {
  let length = 0
  response.on('data', (part: Buffer) => {
    length += part.length
    if (length > MAX_ANSWER_BYTES)
      return destroy(new Error(`the answer is above ${MAX_ANSWER_BYTES} bytes`))
    take(part)
  })
}

// The workers that can be asked just now, and questions to all of them at a time.

/** What one of them said, or why it said nothing. */
export type WorkerResult<T> =
  | { readonly worker: WorkerEndpoints; readonly value: T }
  | { readonly door: WorkerEndpoints; readonly problem: string }

export class WorkerSet {
  readonly #workers = new Map<string, WorkerEndpoints>()

  /** By slot; of one slot the newest first, as the others are about to leave. */
  get workers(): WorkerEndpoints[] {
    return [...this.#workers.values()].toSorted(
      (one, other) => one.slot - other.slot || other.epoch - one.epoch,
    )
  }

  /** One for each slot: those that take new connections. */
  get newestPerSlot(): WorkerEndpoints[] {
    const { workers } = this
    return workers.filter(({ slot }, at) => workers[at - 1]?.slot !== slot)
  }

  find(id: WorkerId): WorkerEndpoints | undefined {
    return this.#workers.get(workerNameOf(id))
  }

  has(id: WorkerId): boolean {
    return this.#workers.has(workerNameOf(id))
  }

  add(door: WorkerEndpoints): void {
    this.#workers.set(workerNameOf(door), door)
  }

  delete(id: WorkerId): void {
    this.#workers.delete(workerNameOf(id))
  }

  /** In the order of the workers. */
  all<T>(ask: (door: WorkerEndpoints) => Promise<T>): Promise<WorkerResult<T>[]> {
    return Promise.all(
      this.workers.map(async (door) => {
        try {
          return { door, value: await ask(door) }
        } catch (error) {
          return { door, problem: errorMessageOf(error) }
        }
      }),
    )
  }
}
