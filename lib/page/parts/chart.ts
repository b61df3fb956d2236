// A line chart over time: scales, paths, and the SVG element.

import { html, useMemo, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { clockText } from './number-text.ts'

/** A null value is a gap in the line. */
export type Point = readonly [at: number, value: number | null]

export interface Box {
  readonly width: number
  readonly height: number
  /** Ends of the time axis. */
  readonly from: number
  readonly to: number
  /** Upper end of the value axis, which begins at 0. */
  readonly top: number
}

const STEPS = [1, 2, 5, 10]

/**
 * The next round number, in the given unit, that is not below any value, so that the axis rarely changes; at least `least`.
 */
export function ceilingOf(values: Iterable<number | null>, least = 1, unit = 1): number {
  let most = 0
  for (const value of values) if (value !== null && value > most) most = value
  if (!(most > least) || !Number.isFinite(most)) return least
  const power = 10 ** Math.floor(Math.log10(most / unit)) * unit
  return (STEPS.find((step) => step * power >= most) ?? 10) * power
}

export function xOf(at: number, { from, to, width }: Box): number {
  return to > from ? ((at - from) / (to - from)) * width : width
}

export function yOf(value: number, { top, height }: Box): number {
  return height - (Math.min(Math.max(value, 0), top) / top) * height
}

/** An SVG path with a new line after each gap. A single point becomes a short dash, so that it is visible. */
export function lineOf(points: readonly Point[], box: Box): string {
  return runsOf(points, box)
    .map((run) => (run.length === 1 ? `M${pair(run[0]!)}h0.01` : `M${run.map(pair).join('L')}`))
    .join('')
}

/** The same as a closed area down to the axis. */
export function areaOf(points: readonly Point[], box: Box): string {
  return runsOf(points, box)
    .filter((run) => run.length > 1)
    .map((run) => {
      const [first, last] = [run[0]!, run.at(-1)!]
      return `M${round(first[0])} ${box.height}L${run.map(pair).join('L')}L${round(last[0])} ${box.height}Z`
    })
    .join('')
}

type Place = readonly [x: number, y: number]

/** Runs of points without a gap, in coordinates of the box. */
function runsOf(points: readonly Point[], box: Box): Place[][] {
  const runs: Place[][] = []
  let run: Place[] | null = null
  for (const [at, value] of points) {
    if (value === null || at < box.from || at > box.to) {
      run = null
      continue
    }
    if (run === null) runs.push((run = []))
    run.push([xOf(at, box), yOf(value, box)])
  }
  return runs
}

function pair([x, y]: Place): string {
  return `${round(x)} ${round(y)}`
}

function round(number: number): number {
  return Math.round(number * 100) / 100
}

/** Index of the nearest of the times, which are in ascending order; -1 when there are none. */
export function nearest(times: readonly number[], at: number): number {
  let [low, high] = [0, times.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < at) low = middle + 1
    else high = middle
  }
  if (low > 0 && at - times[low - 1]! <= times[low]! - at) return low - 1
  return Math.min(low, times.length - 1)
}

export interface Series {
  readonly name: string
  /** Number of the colour `--series-<tone>`. */
  readonly tone: 1 | 2 | 3 | 4 | 5
  /** In ascending order of time. */
  readonly points: readonly Point[]
  /** Fills the area down to the axis; a single series is always filled. */
  readonly isFilled?: boolean
}

export interface ChartProps {
  /** The accessible name. */
  readonly name: string
  readonly series: readonly Series[]
  /** Ends of the time axis. */
  readonly from: number
  readonly to: number
  readonly format: (value: number) => string
  /** The least upper end of the value axis. */
  readonly least?: number
  /** The unit in which numbers are round: 1,048,576 for bytes. */
  readonly unit?: number
  /** In pixels. */
  readonly height?: number
  /** Labels of the two ends of the time axis; none when left out. */
  readonly ends?: readonly [from: string, to: string]
}

/** Size of the drawing in its own units; the browser stretches it. */
const WIDTH = 300
/** Steps of Page Up and Page Down. */
const PAGE_STEPS = 10

export function Chart(props: ChartProps): VNode {
  const { name, series, from, to, format, least, unit, height = 56, ends } = props
  const frame = useRef<HTMLDivElement>(null)
  const [pinned, pin] = useState<number | null>(null)
  const values = series.flatMap(({ points }) => points.map(([, value]) => value))
  const box: Box = { width: WIDTH, height, from, to, top: ceilingOf(values, least, unit) }
  const times = useMemo(() => timesOf(series, from, to), [series, from, to])
  const at = pinned === null ? null : (times[nearest(times, pinned)] ?? null)
  const last = times.length - 1
  const shown = at === null ? last : times.indexOf(at)

  const point = (event: PointerEvent): void => {
    const { left, width } = frame.current!.getBoundingClientRect()
    pin(from + ((event.clientX - left) / width) * (to - from))
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') return pin(null)
    const next = stepOf(event.key, shown, last)
    if (next === null || last < 0) return
    event.preventDefault()
    pin(times[Math.min(Math.max(next, 0), last)]!)
  }
  return html`
    <div class="chart">
      <div
        class="plot"
        ref=${frame}
        role="slider"
        tabindex="0"
        aria-label=${name}
        aria-valuemin="0"
        aria-valuemax=${Math.max(last, 0)}
        aria-valuenow=${Math.max(shown, 0)}
        aria-valuetext=${readout(series, times[shown] ?? null, format)}
        onPointerMove=${point}
        onPointerLeave=${() => pin(null)}
        onKeyDown=${press}
        onBlur=${() => pin(null)}
      >
        <svg
          viewBox=${`0 0 ${WIDTH} ${height}`}
          height=${height}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <${Lines} series=${series} box=${box} at=${at} />
        </svg>
        <span class="top-mark" aria-hidden="true">${format(box.top)}</span>
        ${at !== null && html`<${Tip} series=${series} at=${at} box=${box} format=${format} />`}
      </div>
      ${ends && html`<${Ends} ends=${ends} />`}
    </div>
  `
}

function Ends(props: { readonly ends: readonly [from: string, to: string] }): VNode {
  const [from, to] = props.ends
  return html`
    <div class="ends" aria-hidden="true">
      <span>${from}</span>
      <span>${to}</span>
    </div>
  `
}

function Lines(props: {
  readonly series: readonly Series[]
  readonly box: Box
  readonly at: number | null
}): VNode {
  const { series, box, at } = props
  const x = at === null ? 0 : xOf(at, box)
  return html`
    <g>
      <line class="rule" x1="0" x2=${WIDTH} y1="0.5" y2="0.5" />
      <line class="axis" x1="0" x2=${WIDTH} y1=${box.height - 0.5} y2=${box.height - 0.5} />
      ${series
        .filter(({ isFilled }) => isFilled === true || series.length === 1)
        .map(
          ({ tone, points }) =>
            html`<path class=${`area tone-${tone}`} d=${areaOf(points, box)} />`,
        )}
      ${series.map(({ tone, points }) => html`<path class=${`line tone-${tone}`} d=${lineOf(points, box)} />`)}
      ${at !== null && html`<line class="cursor" x1=${x} x2=${x} y1="0" y2=${box.height} />`}
      ${
        at !== null &&
        series.map(({ tone, points }) => {
          const value = valueAt(points, at)
          if (value === null) return null
          return html`<path class=${`dot tone-${tone}`} d=${`M${x} ${yOf(value, box)}h0.01`} />`
        })
      }
    </g>
  `
}

/** Next to the pointer, on the side with more room. */
function Tip(props: {
  readonly series: readonly Series[]
  readonly at: number
  readonly box: Box
  readonly format: (value: number) => string
}): VNode {
  const { series, at, box, format } = props
  const share = xOf(at, box) / WIDTH
  const style =
    share < 0.5
      ? { left: `calc(${share * 100}% + 8px)` }
      : { right: `calc(${(1 - share) * 100}% + 8px)` }
  return html`
    <div class="tip" style=${style} aria-hidden="true">
      <span class="dim">${clockText(at)}</span>
      ${series.map(({ name, tone, points }) => {
        const value = valueAt(points, at)
        return html`
          <span class=${`key tone-${tone}`}>
            ${series.length > 1 ? `${name} ` : ''}<b>${value === null ? '–' : format(value)}</b>
          </span>
        `
      })}
    </div>
  `
}

function stepOf(key: string, shown: number, last: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return shown - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return shown + 1
  if (key === 'PageDown') return shown - PAGE_STEPS
  if (key === 'PageUp') return shown + PAGE_STEPS
  if (key === 'Home') return 0
  return key === 'End' ? last : null
}

function timesOf(series: readonly Series[], from: number, to: number): readonly number[] {
  const times = new Set(series.flatMap(({ points }) => points.map(([at]) => at)))
  return [...times].filter((at) => at >= from && at <= to).sort((one, other) => one - other)
}

function valueAt(points: readonly Point[], at: number): number | null {
  return points.find(([time]) => time === at)?.[1] ?? null
}

function readout(
  series: readonly Series[],
  at: number | null,
  format: (value: number) => string,
): string {
  if (at === null) return 'no data yet'
  const said = series.map(({ name, points }) => {
    const value = valueAt(points, at)
    return `${name} ${value === null ? 'none' : format(value)}`
  })
  return `${clockText(at)}: ${said.join(', ')}`
}
