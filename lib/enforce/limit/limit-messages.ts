// What workers and the owner of their limits say to each other. Shapes only: they travel as JSON.

/** A worker's `LimitBatch`; answered with an `Answer` for each of its questions, in their order. */
export const ASK_LIMITS = 'limits.ask'

/** How much is left: a worker's `Look`, answered with a `Seen` for each limit it has named. */
export const READ_LIMITS = 'limits.look'

/** A limit by the number that one worker gave it, and the value of its key; null where it has none. */
export type BucketRef = readonly [limit: number, key: string | null]

/** A limit that the owner hears of for the first time from this worker. */
export interface LimitDeclaration {
  readonly number: number
  /** The same in every worker for the same words. */
  readonly id: string
  readonly most: number
  readonly amount: number
  /** Milliseconds. */
  readonly interval: number
  readonly buckets: 'one' | 'by key'
}

export type LimitOperation =
  /** One request of each limit, in order, until one refuses. A question. */
  | { readonly do: 'take'; readonly at: readonly BucketRef[] }
  /** Tokens of each limit, if all are open: they are one charge from then on. A question. */
  | {
      readonly do: 'admit'
      readonly at: readonly BucketRef[]
      readonly charge: number
      readonly tokens: number
    }
  | { readonly do: 'raise'; readonly charge: number; readonly tokens: number }
  | {
      readonly do: 'settle'
      readonly charge: number
      readonly input: number
      readonly output: number
    }
  /** These and no others are in force in this worker. */
  | { readonly do: 'keep'; readonly limits: readonly number[] }

export interface LimitBatch {
  readonly named: readonly LimitDeclaration[]
  readonly steps: readonly LimitOperation[]
}

/** Of one limit; `reset` in whole seconds. */
export type RemainingQuota = readonly [remaining: number, reset: number]

/** What was decided, and what each limit has left that was asked. null: it could not be asked. */
export type LimitAnswer = {
  readonly decision: 'allow' | 'deny'
  readonly left: readonly RemainingQuota[]
} | null

export interface LimitReadRequest {
  /** Keys of each to show at most, and to look at. */
  readonly most: number
  readonly among: number
}

export interface LimitReading {
  readonly number: number
  readonly keys: number
  readonly shared: RemainingQuota
  readonly tightest: readonly { readonly key: string; readonly remaining: number }[]
}
