// How the screen looks: colours and signs, or their plain stand-ins.

import { Chalk } from 'chalk'
import type { ChalkInstance } from 'chalk'

export type Paint = (text: string) => string

export interface Look {
  readonly warn: Paint
  readonly success: Paint
  readonly error: Paint
  readonly heading: Paint
  readonly faint: Paint
  readonly chosen: Paint
  readonly found: Paint
  /** Of timing bars: a stretch, a point, nothing; and of the line between panes. */
  readonly signs: {
    readonly stretch: string
    readonly point: string
    readonly rest: string
    readonly between: string
    readonly rule: string
  }
}

const UNICODE: Look['signs'] = { stretch: '█', point: '▏', rest: ' ', between: '│', rule: '─' }
const ASCII: Look['signs'] = { stretch: '#', point: '|', rest: '.', between: '|', rule: '-' }

/** Terminals without colours, and none at all. */
const MONOCHROME = /^(?:dumb|vt\d+.*|)$/

type Environment = Readonly<Record<string, string | undefined>>

export function lookOf(env: Environment): Look {
  const ink: ChalkInstance = new Chalk({ level: hasColour(env) ? 1 : 0 })
  return {
    warn: ink.yellow,
    success: ink.green,
    error: ink.red,
    heading: ink.bold,
    faint: ink.dim,
    chosen: ink.inverse,
    found: ink.black.bgYellow,
    signs: isUnicode(env) ? UNICODE : ASCII,
  }
}

/** https://no-color.org: set to anything but nothing. */
function hasColour({ NO_COLOR = '', TERM = '' }: Environment): boolean {
  return NO_COLOR === '' && !MONOCHROME.test(TERM)
}

function isUnicode({ LC_ALL, LC_CTYPE, LANG }: Environment): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '')
}
