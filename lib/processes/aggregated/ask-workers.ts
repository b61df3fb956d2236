// HTTP requests to workers on their private sockets, to one or to all. Every request ends with a response or an error in time.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { errorMessageOf } from '../../core/errors.ts'
import { workerNameOf } from '../../core/session-owner.ts'
import type { WorkerEndpoints, WorkerId } from '../worker-messages.ts'

/** Timeout of a complete response. */
const ANSWER_MS = 3_000

/** Size limit of a response; a dump or heap profile of a large gateway is far smaller. */
const MAX_ANSWER_BYTES = 134_217_728

export interface WorkerRequest {
  readonly method?: 'GET' | 'POST'
  /** Path and query. */
  readonly path: string
  /** Timeout in milliseconds for the complete response. */
  readonly ms?: number
  /** Cancels the request. */
  readonly signal?: AbortSignal
}

export interface WorkerResponse {
  readonly status: number
  readonly body: Buffer
}

/** Resolves with a response of any status; rejects when there is none. */
export async function requestWorker(
  socket: string,
  workerRequest: WorkerRequest,
): Promise<WorkerResponse> {
  const parts: Buffer[] = []
  const status = await streamFromWorker(socket, workerRequest, (part) => parts.push(part))
  return { status, body: Buffer.concat(parts) }
}

/** Passes the body on in parts; resolves with the status when the response is complete. */
export function streamFromWorker(
  socket: string,
  { method = 'GET', path, ms = ANSWER_MS, signal }: WorkerRequest,
  take: (part: Buffer) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath: socket, method, path, agent: false })
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer after ${ms} ms`)), ms)
    const cancel = (): void => void outgoing.destroy(new Error('the client closed the connection'))
    signal?.addEventListener('abort', cancel)
    const finish = (settle: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      settle()
    }
    outgoing.once('error', (error) => finish(() => reject(error)))
    outgoing.once('response', (response) => {
      limitResponse(response, outgoing.destroy.bind(outgoing), take)
      response.once('end', () => finish(() => resolve(response.statusCode ?? 0)))
      response.once('error', (error) => finish(() => reject(error)))
    })
    outgoing.end()
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
      return destroy(new Error(`the response is larger than ${MAX_ANSWER_BYTES} bytes`))
    take(part)
  })
}

/** The value of one worker, or why there is none. */
export type WorkerResult<T> =
  | { readonly worker: WorkerEndpoints; readonly value: T }
  | { readonly worker: WorkerEndpoints; readonly problem: string }

/** The workers that can be asked now. */
export class WorkerSet {
  readonly #workers = new Map<string, WorkerEndpoints>()

  /** By slot; within a slot the newest first, as the others are about to end. */
  get workers(): WorkerEndpoints[] {
    return [...this.#workers.values()].toSorted(
      (one, other) => one.slot - other.slot || other.epoch - one.epoch,
    )
  }

  /** The worker of each slot that gets new connections. */
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

  add(worker: WorkerEndpoints): void {
    this.#workers.set(workerNameOf(worker), worker)
  }

  delete(id: WorkerId): void {
    this.#workers.delete(workerNameOf(id))
  }

  /** Calls `ask` for all workers at once; results are in the order of `workers`. */
  all<T>(ask: (worker: WorkerEndpoints) => Promise<T>): Promise<WorkerResult<T>[]> {
    return Promise.all(
      this.workers.map(async (worker) => {
        try {
          return { worker, value: await ask(worker) }
        } catch (error) {
          return { worker, problem: errorMessageOf(error) }
        }
      }),
    )
  }
}
