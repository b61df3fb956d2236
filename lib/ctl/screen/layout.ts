// Where things are on a screen of a given size: the list above the details, or beside them where there is room.

import type { Size } from './model.ts'

export interface Box {
  readonly width: number
  readonly height: number
}

export interface Layout {
  readonly kind: 'stacked' | 'beside' | 'small'
  /** Without its heading. */
  readonly list: Box
  readonly details: Box
}

/** Below it nothing useful fits. */
const LEAST: Size = { columns: 20, rows: 8 }
/** A pane narrower than this cuts most lines. */
const BESIDE_COLUMNS = 120
/** Title, heading of the list, line of words, line of keys. */
const FIXED_ROWS = 4

export function layoutOf({ columns, rows }: Size): Layout {
  const none = { width: 0, height: 0 }
  if (columns < LEAST.columns || rows < LEAST.rows)
    return { kind: 'small', list: none, details: none }
  const height = rows - FIXED_ROWS
  if (columns >= BESIDE_COLUMNS) {
    const width = Math.floor((columns * 3) / 5)
    // The bar between them takes one.
    const details = { width: columns - width - 1, height }
    return { kind: 'beside', list: { width, height }, details }
  }
  // The details have a heading of their own.
  const listHeight = Math.max(1, Math.floor((height - 1) * 0.45))
  return {
    kind: 'stacked',
    list: { width: columns, height: listHeight },
    details: { width: columns, height: height - 1 - listHeight },
  }
}
