// What a child says on its standard error goes to our log, line by line. It is read as fast as it comes, so that
// no child hangs on it; what is too long or too much is cut or counted.

import type { Log, Value } from '../../../base/log/log.ts'
import { shownLine } from '../../../base/redact/lines.ts'
import type { KnownValues } from './known-values.ts'
import { Lines } from './lines.ts'
import type { LineOwner } from './lines.ts'

/** A longer line is cut. */
export const MAX_STDERR_LINE = 4_096
/** Lines that go to the log within one window; the others are counted. */
export const STDERR_LINES = 200
const STDERR_WINDOW_MS = 1_000
/** Lines kept for whoever asks later what it said last. */
export const LAST_LINES = 20

/** As bytes, for nearly all of them are never looked at; `text` once one was. */
interface Kept {
  readonly bytes: Buffer
  text: string | null
}

export class Stderr implements LineOwner {
  readonly #log: Log
  readonly #whose: readonly Value[]
  readonly #known: KnownValues | null
  readonly #lines = new Lines(this, MAX_STDERR_LINE)
  readonly #last: Kept[] = []
  #logged = 0
  #dropped = 0
  /** Runs while the window of the last logged line is open; unref'd, as it only counts. */
  #window: NodeJS.Timeout | null = null

  constructor(log: Log, whose: readonly Value[], known: KnownValues | null = null) {
    this.#log = log
    this.#known = known
    this.#whose = whose
  }

  last(lines = LAST_LINES): string[] {
    return this.#last.slice(-lines).map((kept) => (kept.text ??= this.#shown(kept.bytes)))
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  end(): void {
    this.#lines.end()
    this.#closeWindow()
  }

  line(bytes: Buffer): void {
    this.#keep(bytes)
    this.#write(bytes, [])
  }

  tooLong(beginning: Buffer): void {
    this.#keep(beginning)
    this.#write(beginning, ['cut', true])
  }

  #shown(bytes: Buffer): string {
    const text = bytes.toString('utf8')
    return shownLine(this.#known?.hide(text) ?? text)
  }

  #keep(bytes: Buffer): void {
    this.#last.push({ bytes, text: null })
    if (this.#last.length > LAST_LINES) this.#last.shift()
  }

  #write(bytes: Buffer, more: readonly Value[]): void {
    this.#window ??= setTimeout(() => this.#closeWindow(), STDERR_WINDOW_MS).unref()
    if (this.#logged === STDERR_LINES) return void this.#dropped++
    this.#logged++
    if (!this.#log.allows('info', 'mcp')) return
    const text = this.#shown(bytes)
    this.#log.line('info', 'mcp', 'stderr', [...this.#whose, 'line', text, ...more])
  }

  #closeWindow(): void {
    if (this.#window !== null) clearTimeout(this.#window)
    this.#window = null
    this.#logged = 0
    if (this.#dropped > 0)
      this.#log.line('info', 'mcp', 'stderr lines dropped: there are too many', [
        ...this.#whose,
        'lines',
        this.#dropped,
      ])
    this.#dropped = 0
  }
}
