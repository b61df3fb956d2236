// What a key does to the screen.

import { layoutOf } from './layout.ts'
import { select, withDetails } from './model.ts'
import type { Model } from './model.ts'

/** Columns that one press moves the details sideways. */
const SHIFT = 8
const MOST_SHIFT = 4_000
const MOST_TYPED = 200

type Act = (model: Model) => Model

const MOVES: Readonly<Record<string, Act>> = {
  up: (model) => move(model, -1),
  k: (model) => move(model, -1),
  down: (model) => move(model, 1),
  j: (model) => move(model, 1),
  pageup: (model) => move(model, -pageOf(model)),
  b: (model) => move(model, -pageOf(model)),
  pagedown: (model) => move(model, pageOf(model)),
  space: (model) => move(model, pageOf(model)),
  home: (model) => move(model, -Infinity),
  g: (model) => move(model, -Infinity),
  end: (model) => move(model, Infinity),
  G: (model) => move(model, Infinity),
  left: (model) => shift(model, -SHIFT),
  h: (model) => shift(model, -SHIFT),
  right: (model) => shift(model, SHIFT),
  l: (model) => shift(model, SHIFT),
}

const ACTS: Readonly<Record<string, Act>> = {
  ...MOVES,
  tab: (model) => ({ ...model, pane: model.pane === 'events' ? 'details' : 'events' }),
  return: (model) => ({ ...model, pane: 'details' }),
  e: (model) => withDetails({ ...model, mode: 'event' }),
  s: (model) => withDetails({ ...model, mode: 'snapshot' }),
  d: (model) => withDetails({ ...model, mode: 'diff' }),
  f: (model) => withDetails({ ...model, format: model.format === 'yaml' ? 'json' : 'yaml' }),
  c: (model) => ({ ...model, wish: 'copy' }),
  w: (model) => ({ ...model, wish: 'save' }),
  q: (model) => ({ ...model, wish: 'quit' }),
  escape: (model) => ({ ...model, wish: 'quit' }),
  'ctrl-c': (model) => ({ ...model, wish: 'quit' }),
  '/': (model) => ({ ...model, typing: '' }),
  n: (model) => find(model, 1, 'beyond'),
  N: (model) => find(model, -1, 'beyond'),
}

export function press(model: Model, key: string): Model {
  const quiet = { ...model, notice: '' }
  if (model.typing !== null) return type(quiet, model.typing, key)
  return ACTS[key]?.(quiet) ?? quiet
}

function type(model: Model, typed: string, key: string): Model {
  if (key === 'ctrl-c') return { ...model, wish: 'quit' }
  if (key === 'escape') return { ...model, typing: null }
  if (key === 'backspace') return { ...model, typing: typed === '' ? null : typed.slice(0, -1) }
  if (key === 'return') return find({ ...model, typing: null, search: typed }, 1, 'here')
  const char = key === 'space' ? ' ' : key
  const isChar = /^.$/u.test(char) && typed.length < MOST_TYPED
  return isChar ? { ...model, typing: typed + char } : model
}

function move(model: Model, by: number): Model {
  if (model.pane === 'events') return select(model, model.selected + by)
  return scrollTo(model, model.scroll + by)
}

/** The last page stays full. */
function scrollTo(model: Model, line: number): Model {
  const most = model.details.length - layoutOf(model.size).details.height
  return { ...model, scroll: Math.max(0, Math.min(line, most)) }
}

function shift(model: Model, by: number): Model {
  return { ...model, shift: Math.max(0, Math.min(model.shift + by, MOST_SHIFT)) }
}

function pageOf({ pane, size }: Model): number {
  const { list, details } = layoutOf(size)
  return Math.max(1, (pane === 'events' ? list : details).height - 1)
}

/** Round and round, through events or through the lines of one, whichever pane it is. */
function find(model: Model, by: 1 | -1, from: 'here' | 'beyond'): Model {
  const wanted = model.search.toLowerCase()
  if (wanted === '') return model
  const isList = model.pane === 'events'
  const texts = isList ? model.steps.map(({ text }) => text) : model.details
  const start = isList ? model.selected : model.scroll
  const first = from === 'here' ? 0 : 1
  for (let step = first; step < first + texts.length; step++) {
    const at = (start + by * step + texts.length * 2) % texts.length
    if (!texts[at]!.toLowerCase().includes(wanted)) continue
    return isList ? select(model, at) : { ...model, scroll: at }
  }
  return { ...model, notice: `not found: ${model.search}` }
}
