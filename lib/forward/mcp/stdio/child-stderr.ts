// Writes the stderr of a child to the log, line by line. It is always read, so that no child blocks on it; long lines
// are cut and lines above a rate are counted.

import type { Log, LogValue } from '../../../core/log.ts'
import { redactLine } from '../../../text/redaction.ts'
import type { ChildSecrets } from './start-child.ts'
import { LineSplitter } from './line-splitter.ts'
import type { LineOwner } from './line-splitter.ts'

/** A longer line is cut. */
export const MAX_STDERR_LINE = 4_096
/** Lines that are logged within one window; the others are counted. */
export const MAX_STDERR_LINES_PER_WINDOW = 200
const STDERR_WINDOW_MS = 1_000
/** Latest lines that are kept for the admin API. */
export const STDERR_LINES_KEPT = 20

/** Kept as bytes, since most lines are never shown; `text` is set on first use. */
interface KeptStderrLine {
  readonly bytes: Buffer
  text: string | null
}

export class ChildStderr implements LineOwner {
  readonly #log: Log
  readonly #logFields: readonly LogValue[]
  readonly #secrets: ChildSecrets | null
  readonly #lines = new LineSplitter(this, MAX_STDERR_LINE)
  readonly #last: KeptStderrLine[] = []
  #logged = 0
  #dropped = 0
  /** Set while a window is open; unref'd, as it only counts lines. */
  #window: NodeJS.Timeout | null = null

  constructor(log: Log, logFields: readonly LogValue[], secrets: ChildSecrets | null = null) {
    this.#log = log
    this.#secrets = secrets
    this.#logFields = logFields
  }

  last(lines = STDERR_LINES_KEPT): string[] {
    return this.#last.slice(-lines).map((kept) => (kept.text ??= this.#redact(kept.bytes)))
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

  #redact(bytes: Buffer): string {
    const text = bytes.toString('utf8')
    return redactLine(this.#secrets?.redact(text) ?? text)
  }

  #keep(bytes: Buffer): void {
    this.#last.push({ bytes, text: null })
    if (this.#last.length > STDERR_LINES_KEPT) this.#last.shift()
  }

  #write(bytes: Buffer, extraFields: readonly LogValue[]): void {
    this.#window ??= setTimeout(() => this.#closeWindow(), STDERR_WINDOW_MS).unref()
    if (this.#logged === MAX_STDERR_LINES_PER_WINDOW) return void this.#dropped++
    this.#logged++
    if (!this.#log.allows('info', 'mcp')) return
    const text = this.#redact(bytes)
    this.#log.write('info', 'mcp', 'stderr', [...this.#logFields, 'line', text, ...extraFields])
  }

  #closeWindow(): void {
    if (this.#window !== null) clearTimeout(this.#window)
    this.#window = null
    this.#logged = 0
    if (this.#dropped > 0)
      this.#log.write('info', 'mcp', 'stderr lines dropped', [
        ...this.#logFields,
        'lines',
        this.#dropped,
      ])
    this.#dropped = 0
  }
}
