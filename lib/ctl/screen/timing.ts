// How long a step of a trace took, as a bar of letters.

import type { Timing } from '../../trace-view/trace-event.ts'
import type { Look } from './look.ts'

export function barOf({ from, to }: Timing, total: number, width: number, look: Look): string {
  const { stretch, point, rest } = look.signs
  if (width < 1) return ''
  if (total <= 0) return rest.repeat(width)
  const first = Math.min(width - 1, Math.floor((from / total) * width))
  const length = Math.round(((to - from) / total) * width)
  const bar = length < 1 ? point : stretch.repeat(length)
  return (rest.repeat(first) + bar).slice(0, width).padEnd(width, rest)
}
