// The profilers of V8, through its inspector in this process: one profile at a time.

import { Session } from 'node:inspector/promises'
import type { SampledHeap } from './heap-profile.ts'

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

export class Profilers {
  readonly #session = new Session()
  #state: 'idle' | 'busy' = 'idle'
  #heap: 'off' | 'sampling' = 'off'

  constructor() {
    this.#session.connect()
  }

  /** From now on allocations are sampled; what is older is in no profile. */
  async watchHeap(): Promise<void> {
    if (this.#heap === 'sampling') return
    this.#heap = 'sampling'
    await this.#session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_INTERVAL })
  }

  /** The profile, compressed; null when another one is being taken. */
  async cpu(options: CpuOptions): Promise<Buffer | null> {
    return this.#alone(() => this.#cpu(options))
  }

  /** What is alive now; garbage is collected first. Empty where allocations are not sampled. */
  async heap(): Promise<Buffer | null> {
    return this.#alone(async () => {
      const { heapPprof } = await import('./heap-profile.ts')
      const span = { startedAt: Date.now(), duration: 0 }
      if (this.#heap === 'off') return heapPprof(null, HEAP_INTERVAL, span)
      const { profile } = await this.#session.post('HeapProfiler.getSamplingProfile')
      // Node's types are behind: they know neither the samples nor the nodes' ids.
      return heapPprof(profile as unknown as SampledHeap, HEAP_INTERVAL, span)
    })
  }

  close(): void {
    this.#session.disconnect()
  }

  async #cpu({ seconds, frequency, signal }: CpuOptions): Promise<Buffer> {
    const session = this.#session
    // Loaded when it is needed: most processes are never profiled.
    const { cpuPprof } = await import('./cpu-profile.ts')
    await session.post('Profiler.enable')
    try {
      const interval = Math.round(1e6 / frequency)
      await session.post('Profiler.setSamplingInterval', { interval })
      const startedAt = Date.now()
      await session.post('Profiler.start')
      await elapsed(seconds * 1000, signal)
      const { profile } = await session.post('Profiler.stop')
      const duration = (profile.endTime - profile.startTime) / 1000
      return await cpuPprof(profile, frequency, { startedAt, duration })
    } finally {
      await session.post('Profiler.disable')
    }
  }

  async #alone(take: () => Promise<Buffer>): Promise<Buffer | null> {
    if (this.#state === 'busy') return null
    this.#state = 'busy'
    try {
      return await take()
    } finally {
      this.#state = 'idle'
    }
  }
}

function elapsed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
