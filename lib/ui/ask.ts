// A question to the page's server and its answer, apart from how they travel: the admin interface and a gateway's listener
// both carry them.

import type { EventOut } from '../base/sse/event-out.ts'

/** As far as the page's server wants to know. */
export interface Ask {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Of what the browser has already. */
  readonly ifNoneMatch: string | undefined
}

export type Fields = readonly (readonly [name: string, value: string])[]

export type Answer =
  | {
      readonly kind: 'whole'
      readonly status: number
      readonly fields: Fields
      readonly content: Buffer | string
    }
  | {
      readonly kind: 'events'
      /**
       * Called once, when the head is out, or never, when nobody is left to have it; what it returns is called once, when
       * nobody listens any more.
       */
      readonly open: (out: EventOut) => () => void
    }
