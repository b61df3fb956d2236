// What the screen knows, and how it changes when events, sizes and words come in. Keys are in press.ts.

import { detailsOf } from './details.ts'
import type { Format, Mode } from './details.ts'
import { explain } from '../../trace-view/explain-outcome.ts'
import type { Explanation } from '../../trace-view/explain-outcome.ts'
import type { Step } from '../../trace-view/trace-event.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** `waiting` for a request, or for the trace of one that was `sent`; `over` well, or `broken`. */
export type StreamState = 'waiting' | 'sent' | 'over' | 'broken'
/** What only somebody with a terminal can do. */
export type Wish = 'nothing' | 'quit' | 'copy' | 'save'

export interface Model {
  readonly title: string
  readonly size: Size
  readonly stream: StreamState
  readonly steps: readonly Step[]
  /** Events above the bound. */
  readonly left: number
  readonly selected: number
  readonly pane: 'events' | 'details'
  readonly mode: Mode
  readonly format: Format
  /** Lines of what is selected. */
  readonly details: readonly string[]
  /** First line and column of the details that are seen. */
  readonly scroll: number
  readonly shift: number
  /** What is being typed to search for; null while nothing is. */
  readonly typing: string | null
  readonly search: string
  readonly notice: string
  /** Why the request ended as it did, once it has. */
  readonly outcome: Explanation | null
  readonly wish: Wish
}

/** A trace has some tens of events; one of a long event stream may have more. */
const MOST_STEPS = 10_000

export function modelOf(title: string, size: Size, stream: StreamState): Model {
  return {
    title,
    size,
    stream,
    steps: [],
    left: 0,
    selected: 0,
    pane: 'events',
    mode: 'event',
    format: 'yaml',
    details: [],
    scroll: 0,
    shift: 0,
    typing: null,
    search: '',
    notice: '',
    outcome: null,
    wish: 'nothing',
  }
}

export function withStep(model: Model, step: Step): Model {
  if (model.steps.length >= MOST_STEPS) return { ...model, left: model.left + 1 }
  const steps = [...model.steps, step]
  const next = { ...model, steps }
  return steps.length === 1 ? withDetails(next) : next
}

/** When all that comes has come. */
export function withEnd(model: Model): Model {
  return { ...model, stream: 'over', outcome: explain(model.steps) }
}

/** Chooses an event, or the nearest there is. */
export function select(model: Model, at: number): Model {
  const selected = Math.max(0, Math.min(at, model.steps.length - 1))
  return selected === model.selected ? model : withDetails({ ...model, selected })
}

/** When what is chosen, or how it is shown, has changed. */
export function withDetails(model: Model): Model {
  const { steps, selected, mode, format } = model
  return { ...model, details: detailsOf(steps, selected, mode, format), scroll: 0, shift: 0 }
}
