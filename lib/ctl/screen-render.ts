// Renders the trace screen as lines. All text from outside is made safe for the terminal here.

import { Chalk } from 'chalk'
import type { ChalkInstance } from 'chalk'
import { timeText } from '../trace-view/amounts.ts'
import { labelOf, summaryOf } from '../trace-view/event-summary.ts'
import { sentenceOf } from '../trace-view/explain-outcome.ts'
import { timingOf, totalOf } from '../trace-view/trace-event.ts'
import type { Timing } from '../trace-view/trace-event.ts'
import { computeLayout } from './screen-model.ts'
import type { Area, ScreenModel } from './screen-model.ts'
import { clip, fit, plain, skip, widthOf } from './terminal-text.ts'

type Paint = (text: string) => string

/** Colours and symbols that the terminal supports. */
export interface Theme {
  readonly warn: Paint
  readonly success: Paint
  readonly error: Paint
  readonly heading: Paint
  readonly faint: Paint
  readonly selected: Paint
  readonly match: Paint
  readonly symbols: {
    /** In timing bars: a duration, a moment, and empty space. */
    readonly duration: string
    readonly moment: string
    readonly empty: string
    /** Between the panes, and in the heading of the details. */
    readonly vertical: string
    readonly horizontal: string
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const UNICODE: Theme['symbols'] = {
  ...{ duration: '█', moment: '▏', empty: ' ' },
  ...{ vertical: '│', horizontal: '─' },
}
const ASCII: Theme['symbols'] = {
  ...{ duration: '#', moment: '|', empty: '.' },
  ...{ vertical: '|', horizontal: '-' },
}
const MONOCHROME_TERMINAL = /^(?:dumb|vt\d+.*|)$/

const TYPE_WIDTH = 14
const TIME_WIDTH = 8
/** A narrow list needs its columns for the summary. */
const BAR_WIDTH = 10
const WIDE_BAR_WIDTH = 20
const WIDE_LIST_WIDTH = 100

const KEYS = 'q quit  Tab pane  e event  s snapshot  d diff  f format  / find  c copy  w save'
const MODE_NAMES = { event: 'raw event', snapshot: 'snapshot', diff: 'snapshot diff' } as const
const STREAM_TEXTS = {
  waiting: 'waiting for trace data',
  sent: 'request sent, waiting for trace to complete',
  complete: 'stream complete, press q to exit',
  failed: 'stream failed, press q to exit',
} as const

export function createTheme(env: Environment): Theme {
  const { NO_COLOR = '', TERM = '', LC_ALL, LC_CTYPE, LANG } = env
  // https://no-color.org: any value but the empty one disables colours.
  const hasColours = NO_COLOR === '' && !MONOCHROME_TERMINAL.test(TERM)
  const hasUnicode = /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '')
  const chalk: ChalkInstance = new Chalk({ level: hasColours ? 1 : 0 })
  return {
    warn: chalk.yellow,
    success: chalk.green,
    error: chalk.red,
    heading: chalk.bold,
    faint: chalk.dim,
    selected: chalk.inverse,
    match: chalk.black.bgYellow,
    symbols: hasUnicode ? UNICODE : ASCII,
  }
}

/** One line per row of the screen, each exactly as wide as the screen. */
export function render(model: ScreenModel, theme: Theme): string[] {
  const { columns, rows } = model.size
  const layout = computeLayout(model.size)
  if (layout.kind === 'too-small') return tooSmallLines(columns, rows)
  const list = listLines(model, layout.list, theme)
  const details = detailLines(model, layout.details, theme)
  const heading = detailHeading(model, layout.details, theme)
  const lines = [titleLine(model, theme)]
  if (layout.kind === 'rows') lines.push(...list, heading, ...details)
  else {
    const right = [heading, ...details]
    lines.push(...list.map((line, at) => line + theme.faint(theme.symbols.vertical) + right[at]!))
  }
  return [...lines, statusLine(model, theme), theme.faint(fit(KEYS, columns))]
}

function tooSmallLines(columns: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, at) =>
    fit(at === 0 ? 'too small, press q to exit' : '', columns),
  )
}

function titleLine({ title, size, steps, stream, dropped }: ScreenModel, theme: Theme): string {
  const count = steps.length === 0 ? [] : [`${steps.length} events`]
  const more = dropped === 0 ? [] : [`${dropped} more not kept`]
  const state = stream === 'waiting' && steps.length > 0 ? [] : [STREAM_TEXTS[stream]]
  const right = [...count, ...more, ...state].join(', ')
  const width = Math.max(0, size.columns - widthOf(right) - 2)
  return theme.heading(fit(`${fit(plain(`Events ${title}`), width)}  ${right}`, size.columns))
}

/** Includes the heading. */
function listLines(model: ScreenModel, { width, height }: Area, theme: Theme): string[] {
  const { steps, selected } = model
  const barWidth = width >= WIDE_LIST_WIDTH ? WIDE_BAR_WIDTH : BAR_WIDTH
  const row = (number: string, type: string, time: string, bar: string, summary: string): string =>
    `${number.padStart(4)} ${fit(type, TYPE_WIDTH)} ${time.padStart(TIME_WIDTH)} ${bar} ${summary}`
  const first = Math.max(0, Math.min(selected - Math.floor(height / 2), steps.length - height))
  const total = totalOf(steps)
  const lines = [
    theme.heading(fit(row('#', 'Type', 'Time', 'Timing'.padEnd(barWidth), 'Summary'), width)),
  ]
  for (let at = first; at < first + height; at++) {
    const step = steps[at]
    if (step === undefined) {
      lines.push(' '.repeat(width))
      continue
    }
    const timing = timingOf(steps, at)
    const bar = timingBar(timing, total, barWidth, theme)
    const time = timeText(timing.to - timing.from)
    const { event } = step
    const line = row(String(at + 1), plain(labelOf(event)), time, bar, plain(summaryOf(event)))
    const text = fit(at === selected ? `>${line.slice(1)}` : line, width)
    const isSelected = at === selected && model.pane === 'events'
    lines.push(isSelected ? theme.selected(text) : severityPaint(event.severity, theme)(text))
  }
  return lines
}

function detailHeading(model: ScreenModel, { width }: Area, theme: Theme): string {
  const { mode, format, details, scroll, pane } = model
  const mark = pane === 'details' ? '>' : ' '
  const form = mode === 'diff' ? '' : `, ${format.toUpperCase()}`
  const place = details.length === 0 ? '' : ` ${scroll + 1}/${details.length} `
  const left = `${mark}Details: ${MODE_NAMES[mode]}${form} `
  const rule = theme.symbols.horizontal.repeat(Math.max(0, width - widthOf(left) - widthOf(place)))
  return theme.heading(fit(left + rule + place, width))
}

function detailLines(model: ScreenModel, { width, height }: Area, theme: Theme): string[] {
  const { details, scroll, shift, mode, search } = model
  return Array.from({ length: height }, (_, row) => {
    const line = details[scroll + row]
    if (line === undefined) return ' '.repeat(width)
    const text = fit(skip(plain(line), shift), width)
    return highlight(text, search, mode === 'diff' ? changePaint(line, theme) : unchanged, theme)
  })
}

function statusLine({ typing, notice, outcome, size }: ScreenModel, theme: Theme): string {
  if (typing !== null) return fit(`/${plain(typing)}_`, size.columns)
  if (notice !== '' || outcome === null) return theme.heading(fit(plain(notice), size.columns))
  const paint = { good: theme.success, warn: theme.warn, bad: theme.error }[outcome.tone]
  return paint(clip(plain(sentenceOf(outcome)), size.columns))
}

/** Highlights every occurrence of the search text. */
function highlight(text: string, search: string, paint: Paint, theme: Theme): string {
  if (search === '') return paint(text)
  const [lower, wanted] = [text.toLowerCase(), search.toLowerCase()]
  let shown = ''
  let from = 0
  // Lower case may have another length than the text: then the positions do not match.
  const isAligned = lower.length === text.length
  for (let at = lower.indexOf(wanted); isAligned && at >= 0; at = lower.indexOf(wanted, from)) {
    shown += paint(text.slice(from, at)) + theme.match(text.slice(at, at + wanted.length))
    from = at + wanted.length
  }
  return shown + paint(text.slice(from))
}

function severityPaint(severity: string, theme: Theme): Paint {
  if (severity === 'warn') return theme.warn
  if (severity === 'success') return theme.success
  return severity === 'error' ? theme.error : unchanged
}

function changePaint(line: string, theme: Theme): Paint {
  if (line.startsWith('+ ')) return theme.success
  return line.startsWith('- ') ? theme.error : unchanged
}

function unchanged(text: string): string {
  return text
}

export function timingBar(
  { from, to }: Timing,
  total: number,
  width: number,
  { symbols }: Theme,
): string {
  const { duration, moment, empty } = symbols
  if (width < 1) return ''
  if (total <= 0) return empty.repeat(width)
  const first = Math.min(width - 1, Math.floor((from / total) * width))
  const length = Math.round(((to - from) / total) * width)
  const bar = length < 1 ? moment : duration.repeat(length)
  return (empty.repeat(first) + bar).slice(0, width).padEnd(width, empty)
}
