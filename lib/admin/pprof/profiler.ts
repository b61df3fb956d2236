// The profilers of V8, one profile at a time. What V8 lets another thread do is done there (`profile-worker.ts`).

import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ProfileSpan } from './pprof-file.ts'
import type { SampledHeap } from './v8-profiles.ts'

/**
 * One allocation in so many bytes is looked at. At 512 KiB no cost can be measured, so that it runs from the start and a
 * profile has all that is alive; at V8's own 32 KiB it would be 5 %.
 */
const HEAP_INTERVAL = 524_288

export interface CpuOptions {
  readonly seconds: number
  /** Samples a second. */
  readonly frequency: number
  /** Ends it early: nobody waits for it any more. */
  readonly signal: AbortSignal
}

/** What the other thread is to do. */
export type ProfileJob =
  | { readonly kind: 'cpu'; readonly seconds: number; readonly frequency: number }
  | {
      readonly kind: 'heap'
      /** Null where allocations are not sampled. */
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

  /** From now on allocations are sampled; what is older is in no profile. */
  async startHeapSampling(): Promise<void> {
    if (this.#heap === 'sampling') return
    this.#heap = 'sampling'
    await this.#session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL })
  }

  /** The profile, compressed; null when another one is being taken. */
  async cpu({ seconds, frequency, signal }: CpuOptions): Promise<Buffer | null> {
    return this.#runExclusively(() => this.#runJob({ kind: 'cpu', seconds, frequency }, signal))
  }

  /** What is alive now; garbage is collected first. Empty where allocations are not sampled. */
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
    // Node's types are behind: they know neither the samples nor the nodes' ids.
    return profile as unknown as SampledHeap
  }

  #runJob(job: ProfileJob, signal?: AbortSignal): Promise<Buffer> {
    const worker = new Worker(join(import.meta.dirname, 'profile-worker.js'), { workerData: job })
    this.#worker = worker
    const enough = (): void => worker.postMessage('enough')
    signal?.addEventListener('abort', enough)
    if (signal?.aborted === true) enough()
    return new Promise<Buffer>((resolve, reject) => {
      worker.once('message', ({ buffer, byteOffset, byteLength }: Uint8Array) =>
        resolve(Buffer.from(buffer, byteOffset, byteLength)),
      )
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the thread of a profile was ended')))
    }).finally(() => {
      signal?.removeEventListener('abort', enough)
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
