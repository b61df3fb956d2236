// A small line chart over time. Pointer and arrow keys read single values off it; its name and what is read are words.

import { html, useMemo, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { areaOf, ceilingOf, lineOf, nearest, xOf, yOf } from './scale.ts'
import type { Box, Point } from './scale.ts'
import { clockText } from './words.ts'

export interface Series {
  readonly name: string
  /** Of `--series-<tone>`. */
  readonly tone: 1 | 2 | 3 | 4 | 5
  /** The earliest first. */
  readonly points: readonly Point[]
  /** Down to the axis, as one that is alone is anyway. */
  readonly isFilled?: boolean
}

export interface ChartProps {
  /** What it is a chart of, for those who cannot see it. */
  readonly name: string
  readonly series: readonly Series[]
  /** Ends of the time axis. */
  readonly from: number
  readonly to: number
  readonly format: (value: number) => string
  /** The value axis reaches at least to here. */
  readonly least?: number
  /** What a round number is counted in: 1,048,576 for bytes. */
  readonly unit?: number
  /** In pixels. */
  readonly height?: number
  /** What stands under the two ends of the time axis; none when left out. */
  readonly ends?: readonly [from: string, to: string]
}

/** Of the drawing; it is stretched to the place it gets. */
const WIDTH = 300
/** How far Page Up and Page Down go. */
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

/** Beside the pointer, on the side with more room. */
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
  if (at === null) return 'nothing yet'
  const said = series.map(({ name, points }) => {
    const value = valueAt(points, at)
    return `${name} ${value === null ? 'none' : format(value)}`
  })
  return `${clockText(at)}: ${said.join(', ')}`
}
