// All requests that were settled, but for those of the web UI, as a few sums: cheap to add to, and cheap to look at every second.

import { FineHistogram } from './fine-histogram.ts'

/** Of one route, or of everything. */
export interface Counts {
  requests: number
  /** 5xx, and those that got no whole answer. */
  errors: number
  /** 4xx. */
  refused: number
}

export class Totals implements Counts {
  requests = 0
  errors = 0
  refused = 0
  tokensIn = 0
  tokensOut = 0
  /** From the head of a request to that of its answer: streams may go on for hours. */
  readonly firstBytes = new FineHistogram()
  /** Of streams that LLM providers answered with. */
  readonly firstTokens = new FineHistogram()
}
