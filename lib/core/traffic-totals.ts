// All requests that were settled, but for those of the web UI, as a few sums: cheap to add to, and cheap to look at every second.

/** Of one route, or of everything. */
export interface RequestCounts {
  requests: number
  /** 5xx, and those that got no whole answer. */
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
  /** From the head of a request to that of its answer: streams may go on for hours. */
  readonly firstBytes = new LatencyHistogram()
  /** Of streams that LLM providers answered with. */
  readonly firstTokens = new LatencyHistogram()
}

// Times of everything together, by buckets narrow enough to read a median from: one addition a request. Whoever looks takes
// the difference to his last look.

/** In microseconds: what is below is in the first bucket, what is above in the last. */
const LEAST = 32
const LEAST_BITS = 5
const MOST = 300_000_000
/** An octave has eight: none is wider than an eighth of where it begins. */
const PART_BITS = 3
const PARTS = 1 << PART_BITS

export class LatencyHistogram {
  readonly counts = new Float64Array(histogramBucketOf(MOST) + 1)

  add(ms: number): void {
    this.counts[histogramBucketOf(Math.min(ms * 1000, MOST))]!++
  }
}

function histogramBucketOf(micros: number): number {
  // What is no number is not above it either.
  if (!(micros >= LEAST)) return 0
  const bits = 31 - Math.clz32(micros)
  const part = (micros >> (bits - PART_BITS)) & (PARTS - 1)
  return 1 + (bits - LEAST_BITS) * PARTS + part
}

/** Where a bucket begins. */
function bucketStartOf(bucket: number): number {
  if (bucket === 0) return 0
  const at = bucket - 1
  return LEAST * 2 ** Math.floor(at / PARTS) * (1 + (at % PARTS) / PARTS)
}

/** What came since the last look. */
export class LatencyWindow {
  readonly #all: LatencyHistogram
  readonly #before: Float64Array
  readonly #came: Float64Array
  #count = 0

  constructor(all: LatencyHistogram) {
    this.#all = all
    this.#before = all.counts.slice()
    this.#came = new Float64Array(all.counts.length)
  }

  advance(): void {
    const { counts } = this.#all
    this.#count = 0
    for (let at = 0; at < counts.length; at++) {
      const came = counts[at]! - this.#before[at]!
      this.#came[at] = came
      this.#count += came
    }
    this.#before.set(counts)
  }

  /** Milliseconds that this share of them stayed below; null where nothing came. */
  quantile(share: number): number | null {
    let left = share * this.#count
    for (const [at, came] of this.#came.entries()) {
      if (came > 0 && left <= came) {
        const begin = bucketStartOf(at)
        return (begin + (bucketStartOf(at + 1) - begin) * (left / came)) / 1000
      }
      left -= came
    }
    return null
  }
}
