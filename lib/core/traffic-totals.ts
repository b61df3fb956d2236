// Totals of all settled requests except those of the web UI: cheap to update, and cheap to read every second.

/** Counts of one route, or of all routes. */
export interface RequestCounts {
  requests: number
  /** 5xx, and requests without a complete response. */
  errors: number
  /** 4xx. */
  refused: number
}

export class RequestTotals implements RequestCounts {
  requests = 0
  errors = 0
  refused = 0
  tokensIn = 0
  tokensOut = 0
  /** From the request head to the response head; the rest of a stream may take hours. */
  readonly firstBytes = new LatencyHistogram()
  /** Of streaming responses of LLM providers. */
  readonly firstTokens = new LatencyHistogram()
}

/** In microseconds: shorter times are in the first bucket, longer ones in the last. */
const MIN_MICROS = 32
const MIN_BITS = 5
const MAX_MICROS = 300_000_000
/** Buckets per octave: none is wider than an eighth of its start. */
const PART_BITS = 3
const PARTS = 1 << PART_BITS

/** Latencies in buckets narrow enough for a median, at one addition per request. A `LatencyWindow` reads differences. */
export class LatencyHistogram {
  readonly counts = new Float64Array(histogramBucketOf(MAX_MICROS) + 1)

  add(ms: number): void {
    this.counts[histogramBucketOf(Math.min(ms * 1000, MAX_MICROS))]!++
  }
}

function histogramBucketOf(micros: number): number {
  // NaN is in the first bucket, too.
  if (!(micros >= MIN_MICROS)) return 0
  const bits = 31 - Math.clz32(micros)
  const part = (micros >> (bits - PART_BITS)) & (PARTS - 1)
  return 1 + (bits - MIN_BITS) * PARTS + part
}

/** The start of a bucket, in microseconds. */
function bucketStartOf(bucket: number): number {
  if (bucket === 0) return 0
  const at = bucket - 1
  return MIN_MICROS * 2 ** Math.floor(at / PARTS) * (1 + (at % PARTS) / PARTS)
}

/** The latencies since the previous call of `advance`. */
export class LatencyWindow {
  readonly #histogram: LatencyHistogram
  readonly #previous: Float64Array
  readonly #added: Float64Array
  #count = 0

  constructor(histogram: LatencyHistogram) {
    this.#histogram = histogram
    this.#previous = histogram.counts.slice()
    this.#added = new Float64Array(histogram.counts.length)
  }

  advance(): void {
    const { counts } = this.#histogram
    this.#count = 0
    for (let at = 0; at < counts.length; at++) {
      const added = counts[at]! - this.#previous[at]!
      this.#added[at] = added
      this.#count += added
    }
    this.#previous.set(counts)
  }

  /** The latency below which this share of requests stayed, in milliseconds; null without requests. */
  quantile(share: number): number | null {
    let rank = share * this.#count
    for (const [at, added] of this.#added.entries()) {
      if (added > 0 && rank <= added) {
        const start = bucketStartOf(at)
        return (start + (bucketStartOf(at + 1) - start) * (rank / added)) / 1000
      }
      rank -= added
    }
    return null
  }
}
