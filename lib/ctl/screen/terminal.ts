// The terminal while the screen is up: keys one by one, a screen of its own, and back to what it was, however it ends.

import { openSync } from 'node:fs'
import { emitKeypressEvents } from 'node:readline'
import type { Key } from 'node:readline'
import { ReadStream } from 'node:tty'
import type { WriteStream } from 'node:tty'
import type { Size } from './model.ts'

/** Another screen, no cursor, and lines that are too long are cut rather than wrapped. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const FALLBACK: Size = { columns: 80, rows: 24 }

export interface TerminalOwner {
  key(name: string): void
  resized(size: Size): void
}

export class Terminal {
  readonly #output: WriteStream = process.stdout
  readonly #input: ReadStream
  readonly #owner: TerminalOwner
  #shown: readonly string[] = []
  #state: 'closed' | 'open' = 'closed'

  constructor(owner: TerminalOwner) {
    this.#owner = owner
    // Standard input may be what is shown.
    this.#input = process.stdin.isTTY ? process.stdin : keyboard()
  }

  get size(): Size {
    const { columns, rows } = this.#output
    return { columns: columns || FALLBACK.columns, rows: rows || FALLBACK.rows }
  }

  open(): void {
    this.#state = 'open'
    process.on('exit', this.close)
    this.#input.setRawMode(true)
    emitKeypressEvents(this.#input)
    this.#input.on('keypress', this.#keyed)
    this.#input.resume()
    this.#output.on('resize', this.#resized)
    this.#output.write(ENTER)
  }

  readonly close = (): void => {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    process.off('exit', this.close)
    this.#output.off('resize', this.#resized)
    this.#input.off('keypress', this.#keyed)
    // A terminal that is gone cannot be set back.
    if (!this.#input.destroyed) this.#input.setRawMode(false)
    this.#input.pause()
    if (this.#input !== process.stdin) this.#input.destroy()
    this.#output.write(LEAVE)
  }

  /** Writes only lines that are not what is there already. */
  show(lines: readonly string[]): void {
    if (this.#state === 'closed') return
    const changes = frameOf(this.#shown, lines)
    this.#shown = lines
    if (changes !== '') this.#output.write(changes)
  }

  /** Into the clipboard of whoever looks, also over ssh. */
  copy(text: string): void {
    this.#output.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`)
  }

  readonly #keyed = (text: string | undefined, key: Key): void => {
    this.#owner.key(keyName(text, key))
  }

  readonly #resized = (): void => {
    this.#shown = []
    this.#output.write('\x1b[2J')
    this.#owner.resized(this.size)
  }
}

function keyboard(): ReadStream {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'))
  } catch (error) {
    throw new Error('the screen needs a keyboard: --raw does without', { cause: error })
  }
}

export function frameOf(before: readonly string[], after: readonly string[]): string {
  return after.map((line, at) => (line === before[at] ? '' : `\x1b[${at + 1};1H${line}`)).join('')
}

/** `up`, `ctrl-c`, `G`: names for keys that have one, the character for all others. */
export function keyName(text: string | undefined, key: Key): string {
  if (key.ctrl === true) return `ctrl-${key.name}`
  if (key.name !== undefined && (key.name.length > 1 || text === undefined)) return key.name
  return text ?? ''
}
