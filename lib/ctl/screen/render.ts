// The screen as lines, from what it knows. Everything that came from elsewhere is made plain here.

import { plain } from '../plain-text.ts'
import { layoutOf } from './layout.ts'
import type { Box } from './layout.ts'
import type { Look, Paint } from './look.ts'
import type { Model } from './model.ts'
import { timeText } from '../../trace-view/amounts.ts'
import { sentenceOf } from '../../trace-view/explain-outcome.ts'
import { labelOf, summaryOf } from '../../trace-view/event-summary.ts'
import { timingOf, totalOf } from '../../trace-view/trace-event.ts'
import { barOf } from './timing.ts'
import { clip, fit, skip, widthOf } from '../width.ts'

const TYPE_WIDTH = 14
const TIME_WIDTH = 8
/** Wide enough to see where time goes; a narrow list needs its room for words. */
const BAR_WIDTH = 10
const WIDE_BAR_WIDTH = 20
const WIDE_LIST = 100

const KEYS = 'q quit  Tab pane  e event  s snapshot  d diff  f format  / find  c copy  w save'
const MODES = { event: 'raw event', snapshot: 'snapshot', diff: 'snapshot diff' } as const
const STREAM = {
  waiting: 'waiting for trace data',
  sent: 'request sent, waiting for trace to complete',
  over: 'stream complete, press q to exit',
  broken: 'stream broken off, press q to exit',
} as const

/** As many lines as the screen has rows, each as wide as it. */
export function render(model: Model, look: Look): string[] {
  const { columns, rows } = model.size
  const layout = layoutOf(model.size)
  if (layout.kind === 'small') return small(columns, rows)
  const list = listLines(model, layout.list, look)
  const details = detailLines(model, layout.details, look)
  const heading = detailHeading(model, layout.details, look)
  const lines = [titleLine(model, look)]
  if (layout.kind === 'stacked') lines.push(...list, heading, ...details)
  else {
    const beside = [heading, ...details]
    lines.push(...list.map((line, at) => line + look.faint(look.signs.between) + beside[at]!))
  }
  return [...lines, wordsLine(model, look), look.faint(fit(KEYS, columns))]
}

function small(columns: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, at) => fit(at === 0 ? 'too small, q quits' : '', columns))
}

function titleLine({ title, size, steps, stream, left }: Model, look: Look): string {
  const count = steps.length === 0 ? [] : [`${steps.length} events`]
  const more = left === 0 ? [] : [`${left} more not kept`]
  const state = stream === 'waiting' && steps.length > 0 ? [] : [STREAM[stream]]
  const right = [...count, ...more, ...state].join(', ')
  const room = Math.max(0, size.columns - widthOf(right) - 2)
  return look.heading(fit(`${fit(plain(`Events ${title}`), room)}  ${right}`, size.columns))
}

/** With its heading. */
function listLines(model: Model, { width, height }: Box, look: Look): string[] {
  const { steps, selected } = model
  const barWidth = width >= WIDE_LIST ? WIDE_BAR_WIDTH : BAR_WIDTH
  const row = (number: string, type: string, time: string, bar: string, words: string): string =>
    `${number.padStart(4)} ${fit(type, TYPE_WIDTH)} ${time.padStart(TIME_WIDTH)} ${bar} ${words}`
  const first = Math.max(0, Math.min(selected - Math.floor(height / 2), steps.length - height))
  const total = totalOf(steps)
  const lines = [
    look.heading(fit(row('#', 'Type', 'Time', 'Timing'.padEnd(barWidth), 'Summary'), width)),
  ]
  for (let at = first; at < first + height; at++) {
    const step = steps[at]
    if (step === undefined) {
      lines.push(' '.repeat(width))
      continue
    }
    const timing = timingOf(steps, at)
    const bar = barOf(timing, total, barWidth, look)
    const time = timeText(timing.to - timing.from)
    const { event } = step
    const words = row(String(at + 1), plain(labelOf(event)), time, bar, plain(summaryOf(event)))
    const text = fit(at === selected ? `>${words.slice(1)}` : words, width)
    const isChosen = at === selected && model.pane === 'events'
    lines.push(isChosen ? look.chosen(text) : paintOf(event.severity, look)(text))
  }
  return lines
}

function detailHeading(model: Model, { width }: Box, look: Look): string {
  const { mode, format, details, scroll, pane } = model
  const mark = pane === 'details' ? '>' : ' '
  const form = mode === 'diff' ? '' : `, ${format.toUpperCase()}`
  const place = details.length === 0 ? '' : ` ${scroll + 1}/${details.length} `
  const left = `${mark}Details: ${MODES[mode]}${form} `
  const rule = look.signs.rule.repeat(Math.max(0, width - widthOf(left) - widthOf(place)))
  return look.heading(fit(left + rule + place, width))
}

function detailLines(model: Model, { width, height }: Box, look: Look): string[] {
  const { details, scroll, shift, mode, search } = model
  return Array.from({ length: height }, (_, row) => {
    const line = details[scroll + row]
    if (line === undefined) return ' '.repeat(width)
    const text = fit(skip(plain(line), shift), width)
    return marked(text, search, mode === 'diff' ? changePaint(line, look) : keep, look)
  })
}

function wordsLine({ typing, notice, outcome, size }: Model, look: Look): string {
  if (typing !== null) return fit(`/${plain(typing)}_`, size.columns)
  if (notice !== '' || outcome === null) return look.heading(fit(plain(notice), size.columns))
  const paint = { good: look.success, warn: look.warn, bad: look.error }[outcome.tone]
  return paint(clip(plain(sentenceOf(outcome)), size.columns))
}

/** What is searched for stands out, wherever it is seen. */
function marked(text: string, search: string, paint: Paint, look: Look): string {
  if (search === '') return paint(text)
  const [lower, wanted] = [text.toLowerCase(), search.toLowerCase()]
  let shown = ''
  let from = 0
  // Some letters change their length when made small: then places do not agree.
  const isSound = lower.length === text.length
  for (let at = lower.indexOf(wanted); isSound && at >= 0; at = lower.indexOf(wanted, from)) {
    shown += paint(text.slice(from, at)) + look.found(text.slice(at, at + wanted.length))
    from = at + wanted.length
  }
  return shown + paint(text.slice(from))
}

function paintOf(severity: string, look: Look): Paint {
  if (severity === 'warn') return look.warn
  if (severity === 'success') return look.success
  return severity === 'error' ? look.error : keep
}

function changePaint(line: string, look: Look): Paint {
  if (line.startsWith('+ ')) return look.success
  return line.startsWith('- ') ? look.error : keep
}

function keep(text: string): string {
  return text
}
