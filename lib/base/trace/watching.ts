// Somebody wants to see a request: whether that can be had, and its stream when it can.

import { compile } from '../cel/compile.ts'
import { CelError } from '../cel/errors.ts'
import type { EventOut } from '../sse/event-out.ts'
import { TraceStream } from './stream.ts'
import type { Watchers } from './watchers.ts'

export type Wish =
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  /** What it returns ends the watch. */
  | { readonly kind: 'granted'; readonly open: (out: EventOut) => () => void }

/** Who asks to see a request; `source` as below. */
export type Watch = (source: string | null) => Wish

/** `source` is an expression that picks the request; null for the next one, whichever it is. */
export function watching(watchers: Watchers, source: string | null): Wish {
  try {
    const wanted = source === null ? null : compile(source, 'trace')
    if (watchers.isFull) return refused(503, watchers.refuse())
    const open = (out: EventOut): (() => void) => {
      const stream = new TraceStream(out)
      const leave = watchers.add(stream, wanted)
      // Others came between the question and its answer.
      if (leave === null) out.end()
      return () => {
        leave?.()
        stream.close()
      }
    }
    return { kind: 'granted', open }
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return refused(400, `invalid expression: ${error.message}`)
  }
}

function refused(status: number, reason: string): Wish {
  return { kind: 'refused', status, reason }
}
