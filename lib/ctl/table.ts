// Rows under headings, each column as wide as its widest cell.

import { plain } from './plain-text.ts'
import { fit, widthOf } from './width.ts'

const GAP = 3

export function tableText(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const all = [headings, ...rows].map((row) => row.map(plain))
  const widths = headings.map((_, at) => Math.max(...all.map((row) => widthOf(row[at] ?? ''))))
  return all
    .map((row) => row.map((cell, at) => fit(cell, widths[at]! + GAP)).join(''))
    .map((line) => line.trimEnd() + '\n')
    .join('')
}
