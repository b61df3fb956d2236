// V8's profilers, one profile at a time; the work is done on another thread where V8 allows that (`profile-worker.ts`).

import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ProfileSpan } from './pprof-file.ts'
import type { SampledHeap } from './v8-profiles.ts'

/**
 * Bytes per sampled allocation. At 512 KiB no cost is measurable, so sampling runs from the start and a profile has all
 * live objects; at V8's default of 32 KiB it would cost 5 %.
 */
const HEAP_INTERVAL = 524_288

export interface CpuOptions {
  readonly seconds: number
  /** Samples per second. */
  readonly frequency: number
  /** Ends the profile early, when the client has left. */
  readonly signal: AbortSignal
}

/** The task of the profiling thread. */
export type ProfileJob =
  | { readonly kind: 'cpu'; readonly seconds: number; readonly frequency: number }
  | {
      readonly kind: 'heap'
      /** Null when allocations are not sampled. */
      readonly heap: SampledHeap | null
      readonly interval: number
      readonly span: ProfileSpan
    }

export class V8Profilers {
  readonly #session = new Session()
  #worker: Worker | null = null
  #state: 'idle' | 'busy' = 'idle'
  #heap: 'off' | 'sampling' = 'off'

  constructor() {
    this.#session.connect()
  }

  /** Samples allocations from now on; earlier ones are in no profile. */
  async startHeapSampling(): Promise<void> {
    if (this.#heap === 'sampling') return
    this.#heap = 'sampling'
    await this.#session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL })
  }

  /** The compressed profile; null while another one is being taken. */
  async cpu({ seconds, frequency, signal }: CpuOptions): Promise<Buffer | null> {
    return this.#runExclusively(() => this.#runJob({ kind: 'cpu', seconds, frequency }, signal))
  }

  /** Live objects after a garbage collection. Empty when allocations are not sampled. */
  async heap(): Promise<Buffer | null> {
    return this.#runExclusively(async () => {
      const span = { startedAt: Date.now(), duration: 0 }
      const heap = await this.#takeHeapSample()
      return this.#runJob({ kind: 'heap', heap, interval: HEAP_INTERVAL, span })
    })
  }

  close(): void {
    this.#session.disconnect()
    void this.#worker?.terminate()
  }

  async #takeHeapSample(): Promise<SampledHeap | null> {
    if (this.#heap === 'off') return null
    const { profile } = await this.#session.post('HeapProfiler.getSamplingProfile')
    // Node's types are out of date: they lack the samples and the ids of nodes.
    return profile as unknown as SampledHeap
  }

  #runJob(job: ProfileJob, signal?: AbortSignal): Promise<Buffer> {
    const worker = new Worker(join(import.meta.dirname, 'profile-worker.js'), { workerData: job })
    this.#worker = worker
    const cancel = (): void => worker.postMessage('cancel')
    signal?.addEventListener('abort', cancel)
    if (signal?.aborted === true) cancel()
    return new Promise<Buffer>((resolve, reject) => {
      worker.once('message', ({ buffer, byteOffset, byteLength }: Uint8Array) =>
        resolve(Buffer.from(buffer, byteOffset, byteLength)),
      )
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the profiling thread exited')))
    }).finally(() => {
      signal?.removeEventListener('abort', cancel)
      this.#worker = null
    })
  }

  async #runExclusively(take: () => Promise<Buffer>): Promise<Buffer | null> {
    if (this.#state === 'busy') return null
    this.#state = 'busy'
    try {
      return await take()
    } finally {
      this.#state = 'idle'
    }
  }
}
