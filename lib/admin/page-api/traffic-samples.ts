// Samples of the traffic of the last five minutes: differences of running totals, so that requests pay nothing for them.

import { LatencyWindow } from '../../core/traffic-totals.ts'
import type { RequestTotals } from '../../core/traffic-totals.ts'
import type { CurrentLoad } from '../../core/runtime-views.ts'
import type { Sample } from './page-api-types.ts'

export const HISTORY_MS = 300_000
/** A little more than one per second, as timers are not exact. */
const MAX_SAMPLES = 330

export interface SampleSource {
  readonly totals: RequestTotals
  readonly pulse: () => CurrentLoad
}

/** Readings of clocks, memory and CPU. */
export interface MachineReadings {
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Milliseconds since 1970. */
  readonly time: () => number
  /** Resident bytes. */
  readonly rss: () => number
  /** CPU milliseconds so far. */
  readonly cpu: () => number
}

/** Readings of this process. */
export const PROCESS_READINGS: MachineReadings = {
  now: () => performance.now(),
  time: () => Date.now(),
  rss: () => process.memoryUsage.rss(),
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
}

/** Running totals at the last sample. */
interface SampleSums {
  readonly at: number
  readonly cpu: number
  readonly requests: number
  readonly errors: number
  readonly refused: number
  readonly tokensIn: number
  readonly tokensOut: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export class Sampler {
  readonly #source: SampleSource
  readonly #machine: MachineReadings
  readonly #firstBytes: LatencyWindow
  readonly #firstTokens: LatencyWindow
  readonly #samples: Sample[] = []
  #before: SampleSums

  constructor(source: SampleSource, machine = PROCESS_READINGS) {
    this.#source = source
    this.#machine = machine
    this.#firstBytes = new LatencyWindow(source.totals.firstBytes)
    this.#firstTokens = new LatencyWindow(source.totals.firstTokens)
    this.#before = this.#sums(source.pulse())
  }

  /** The oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples
  }

  /** Starts the first interval now. */
  begin(): void {
    this.#before = this.#sums(this.#source.pulse())
    this.#firstBytes.advance()
    this.#firstTokens.advance()
  }

  clear(): void {
    this.#samples.length = 0
  }

  /** Takes a sample of the time since the last one. */
  take(): Sample {
    const pulse = this.#source.pulse()
    const before = this.#before
    const sums = this.#sums(pulse)
    this.#before = sums
    this.#firstBytes.advance()
    this.#firstTokens.advance()
    const span = sums.at - before.at
    const sample: Sample = {
      at: this.#machine.time(),
      span: Math.round(span),
      requests: sums.requests - before.requests,
      errors: sums.errors - before.errors,
      refused: sums.refused - before.refused,
      p50: roundMs(this.#firstBytes.quantile(0.5)),
      p99: roundMs(this.#firstBytes.quantile(0.99)),
      firstToken: roundMs(this.#firstTokens.quantile(0.5)),
      tokensIn: sums.tokensIn - before.tokensIn,
      tokensOut: sums.tokensOut - before.tokensOut,
      // When a port is closed, the sum loses its bytes.
      bytesIn: Math.max(0, sums.bytesIn - before.bytesIn),
      bytesOut: Math.max(0, sums.bytesOut - before.bytesOut),
      openRequests: pulse.requests,
      openStreams: pulse.streams,
      connections: pulse.connections,
      rss: this.#machine.rss(),
      cpu: span > 0 ? Math.round(((sums.cpu - before.cpu) / span) * 1000) / 1000 : 0,
    }
    this.#add(sample)
    return sample
  }

  #add(sample: Sample): void {
    const samples = this.#samples
    const from = sample.at - HISTORY_MS
    samples.push(sample)
    while (samples[0]!.at <= from || samples.length > MAX_SAMPLES) samples.shift()
  }

  #sums({ bytesIn, bytesOut }: CurrentLoad): SampleSums {
    const { requests, errors, refused, tokensIn, tokensOut } = this.#source.totals
    const { now, cpu } = this.#machine
    const counts = { requests, errors, refused, tokensIn, tokensOut }
    return { at: now(), cpu: cpu(), ...counts, bytesIn, bytesOut }
  }
}

/** Rounded to microseconds. */
function roundMs(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000
}
