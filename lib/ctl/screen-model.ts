// The state of the trace screen, and how events and keys change it.

import { labelOf, summaryOf } from '../trace-view/event-summary.ts'
import { explain } from '../trace-view/explain-outcome.ts'
import type { Explanation } from '../trace-view/explain-outcome.ts'
import type { Step } from '../trace-view/trace-event.ts'
import { buildDetails } from './details-pane.ts'
import type { DetailsFormat, DetailsMode } from './details-pane.ts'

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

export interface Area {
  readonly width: number
  readonly height: number
}

interface ScreenLayout {
  /** `columns`: the details are to the right of the list; `rows`: below it. */
  readonly kind: 'rows' | 'columns' | 'too-small'
  /** Without the heading. */
  readonly list: Area
  readonly details: Area
}

/** `sent`: gwctl has sent the request and waits for its trace. */
export type StreamState = 'waiting' | 'sent' | 'complete' | 'failed'

export interface ScreenModel {
  readonly title: string
  readonly size: ScreenSize
  readonly stream: StreamState
  readonly steps: readonly Step[]
  /** How many events were not kept because of the limit. */
  readonly dropped: number
  readonly selected: number
  readonly pane: 'events' | 'details'
  readonly mode: DetailsMode
  readonly format: DetailsFormat
  /** The lines of the details of the selected event. */
  readonly details: readonly string[]
  /** The first visible line and column of the details. */
  readonly scroll: number
  readonly shift: number
  /** The search text while it is typed; null otherwise. */
  readonly typing: string | null
  readonly search: string
  readonly notice: string
  /** Explains the outcome after the request has finished. */
  readonly outcome: Explanation | null
  /** What the terminal has to do after a key. */
  readonly command: 'none' | 'quit' | 'copy' | 'save'
}

const MAX_STEPS = 10_000
const MIN_SIZE: ScreenSize = { columns: 20, rows: 8 }
/** A narrower screen would cut most lines of two columns. */
const TWO_COLUMNS_WIDTH = 120
/** Title, heading of the list, status line, key line. */
const FIXED_ROWS = 4
/** Columns that one key press moves the details sideways. */
const SHIFT = 8
const MAX_SHIFT = 4_000
const MAX_SEARCH_CHARS = 200

export function createModel(title: string, size: ScreenSize, stream: StreamState): ScreenModel {
  return {
    title,
    size,
    stream,
    steps: [],
    dropped: 0,
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
    command: 'none',
  }
}

export function addStep(model: ScreenModel, step: Step): ScreenModel {
  if (model.steps.length >= MAX_STEPS) return { ...model, dropped: model.dropped + 1 }
  const steps = [...model.steps, step]
  const next = { ...model, steps }
  return steps.length === 1 ? updateDetails(next) : next
}

export function completeStream(model: ScreenModel): ScreenModel {
  return { ...model, stream: 'complete', outcome: explain(model.steps) }
}

export function computeLayout({ columns, rows }: ScreenSize): ScreenLayout {
  const none = { width: 0, height: 0 }
  if (columns < MIN_SIZE.columns || rows < MIN_SIZE.rows)
    return { kind: 'too-small', list: none, details: none }
  const height = rows - FIXED_ROWS
  if (columns >= TWO_COLUMNS_WIDTH) {
    const width = Math.floor((columns * 3) / 5)
    // The line between the panes takes one column.
    const details = { width: columns - width - 1, height }
    return { kind: 'columns', list: { width, height }, details }
  }
  // The heading of the details takes one row.
  const listHeight = Math.max(1, Math.floor((height - 1) * 0.45))
  return {
    kind: 'rows',
    list: { width: columns, height: listHeight },
    details: { width: columns, height: height - 1 - listHeight },
  }
}

type KeyAction = (model: ScreenModel) => ScreenModel

const KEY_ACTIONS: Readonly<Record<string, KeyAction>> = {
  up: (model) => move(model, -1),
  k: (model) => move(model, -1),
  down: (model) => move(model, 1),
  j: (model) => move(model, 1),
  pageup: (model) => move(model, -pageHeight(model)),
  b: (model) => move(model, -pageHeight(model)),
  pagedown: (model) => move(model, pageHeight(model)),
  space: (model) => move(model, pageHeight(model)),
  home: (model) => move(model, -Infinity),
  g: (model) => move(model, -Infinity),
  end: (model) => move(model, Infinity),
  G: (model) => move(model, Infinity),
  left: (model) => shift(model, -SHIFT),
  h: (model) => shift(model, -SHIFT),
  right: (model) => shift(model, SHIFT),
  l: (model) => shift(model, SHIFT),
  tab: (model) => ({ ...model, pane: model.pane === 'events' ? 'details' : 'events' }),
  return: (model) => ({ ...model, pane: 'details' }),
  e: (model) => updateDetails({ ...model, mode: 'event' }),
  s: (model) => updateDetails({ ...model, mode: 'snapshot' }),
  d: (model) => updateDetails({ ...model, mode: 'diff' }),
  f: (model) => updateDetails({ ...model, format: model.format === 'yaml' ? 'json' : 'yaml' }),
  c: (model) => ({ ...model, command: 'copy' }),
  w: (model) => ({ ...model, command: 'save' }),
  q: (model) => ({ ...model, command: 'quit' }),
  escape: (model) => ({ ...model, command: 'quit' }),
  'ctrl-c': (model) => ({ ...model, command: 'quit' }),
  '/': (model) => ({ ...model, typing: '' }),
  n: (model) => find(model, 1, 'after'),
  N: (model) => find(model, -1, 'after'),
}

export function handleKey(model: ScreenModel, key: string): ScreenModel {
  const cleared = { ...model, notice: '' }
  if (model.typing !== null) return typeSearch(cleared, model.typing, key)
  return KEY_ACTIONS[key]?.(cleared) ?? cleared
}

function typeSearch(model: ScreenModel, typed: string, key: string): ScreenModel {
  if (key === 'ctrl-c') return { ...model, command: 'quit' }
  if (key === 'escape') return { ...model, typing: null }
  if (key === 'backspace') return { ...model, typing: typed === '' ? null : typed.slice(0, -1) }
  if (key === 'return') return find({ ...model, typing: null, search: typed }, 1, 'current')
  const char = key === 'space' ? ' ' : key
  const isChar = /^.$/u.test(char) && typed.length < MAX_SEARCH_CHARS
  return isChar ? { ...model, typing: typed + char } : model
}

/** Selects this event, or the first or last if it is out of range. */
function selectEvent(model: ScreenModel, at: number): ScreenModel {
  const selected = Math.max(0, Math.min(at, model.steps.length - 1))
  return selected === model.selected ? model : updateDetails({ ...model, selected })
}

function updateDetails(model: ScreenModel): ScreenModel {
  const { steps, selected, mode, format } = model
  return { ...model, details: buildDetails(steps, selected, mode, format), scroll: 0, shift: 0 }
}

/** The details never scroll beyond their last page. */
function move(model: ScreenModel, by: number): ScreenModel {
  if (model.pane === 'events') return selectEvent(model, model.selected + by)
  const maxScroll = model.details.length - computeLayout(model.size).details.height
  return { ...model, scroll: Math.max(0, Math.min(model.scroll + by, maxScroll)) }
}

function shift(model: ScreenModel, by: number): ScreenModel {
  return { ...model, shift: Math.max(0, Math.min(model.shift + by, MAX_SHIFT)) }
}

function pageHeight({ pane, size }: ScreenModel): number {
  const { list, details } = computeLayout(size)
  return Math.max(1, (pane === 'events' ? list : details).height - 1)
}

/** What the list shows of an event, and its JSON. */
function searchedText({ text, event }: Step): string {
  return `${labelOf(event)} ${summaryOf(event)} ${text}`
}

/** Searches the events or the lines of the details, and continues at the other end. */
function find(model: ScreenModel, by: 1 | -1, from: 'current' | 'after'): ScreenModel {
  const wanted = model.search.toLowerCase()
  if (wanted === '') return model
  const isList = model.pane === 'events'
  const texts = isList ? model.steps.map(searchedText) : model.details
  const start = isList ? model.selected : model.scroll
  const first = from === 'current' ? 0 : 1
  for (let step = first; step < first + texts.length; step++) {
    const at = (start + by * step + texts.length * 2) % texts.length
    if (!texts[at]!.toLowerCase().includes(wanted)) continue
    return isList ? selectEvent(model, at) : { ...model, scroll: at }
  }
  return { ...model, notice: `not found: ${model.search}` }
}
