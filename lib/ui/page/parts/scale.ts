// Where the points of a chart lie. Nothing here draws.

/** Null is a gap in the line. */
export type Point = readonly [at: number, value: number | null]

export interface Box {
  readonly width: number
  readonly height: number
  /** Of the time axis. */
  readonly from: number
  readonly to: number
  /** Of the value axis, which begins at 0. */
  readonly top: number
}

const STEPS = [1, 2, 5, 10]

/**
 * The next number that nothing exceeds and that is round in its unit, so that the axis moves rarely; `least` when all is
 * smaller.
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

/** An SVG path: a new line behind each gap. A lone point is a short dash, or it would not be seen. */
export function lineOf(points: readonly Point[], box: Box): string {
  return runsOf(points, box)
    .map((run) => (run.length === 1 ? `M${pair(run[0]!)}h0.01` : `M${run.map(pair).join('L')}`))
    .join('')
}

/** The same, down to the axis. */
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

/** What lies next to each other without a gap, in the box. */
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

/** Which of the times, the earliest first, is nearest; -1 when there are none. */
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
