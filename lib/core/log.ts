// The log: lines on standard output. Lines are buffered for a moment and written together, off the main thread: a write
// per request would cost more than routing it, and a slow reader must not stop the gateway.

import { fstatSync, write, writeSync } from 'node:fs'
import { parseLogFilter } from './log-filter.ts'
import type { LogFilter, LoggingLevel } from './log-filter.ts'
import { makeNonBlocking } from './socket-handle.ts'

export type { LoggingLevel }

const RANKS = { off: -1, error: 0, warn: 1, info: 2, debug: 3, trace: 4 } as const

/** The modules that log; a filter names them. */
export const LOG_MODULES = [
  'accept',
  'admin',
  'auth',
  'choose',
  'config',
  'forward',
  'gateway',
  'limits',
  'llm',
  'log',
  'mcp',
  'request',
] as const

export type LogModule = (typeof LOG_MODULES)[number]

export type LogValue = string | number | boolean | undefined

export interface LogOptions {
  /** `info`, or with modules: `info,accept=debug`. */
  level: string
  format: 'text' | 'json'
  /** Name, value, name, value … at the end of every line. */
  constantFields?: readonly LogValue[]
  /** Writes the text; standard output unless a spec replaces it. */
  write?: OutputWriter
}

/** A line as structured data. */
export interface LogRecord {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly level: LoggingLevel
  readonly module: LogModule
  readonly message: string
  /** Name, value, name, value …; undefined ones are left out of the text. */
  readonly fields: readonly LogValue[]
}

/** The constant start of lines of one kind, formatted once. */
export interface LogLinePrefix {
  readonly level: LoggingLevel
  readonly module: LogModule
  readonly message: string
  readonly fields: readonly LogValue[]
  readonly text: string
}

/** How many field labels are cached. Field names are constants of the program, and fewer. */
const MAX_LABELS = 256

/** How long lines are buffered before a write. */
const FLUSH_MS = 20
/** Bytes that may be pending while the reader is slow; further lines are dropped, and their number is logged. */
const MAX_PENDING = 1_048_576
/** Lines are encoded as they are logged: encoding them later would collect their parts from all over the heap. */
const BUFFER_BYTES = 65_536
/** How long the end of the process waits for a write in progress, and how often it checks. */
const MAX_END_MS = 1_000
const POLL_MS = 5

export class Log {
  readonly #format: 'text' | 'json'
  readonly #out: OutputWriter
  #write: OutputWriter
  readonly #initialFilter: LogFilter
  readonly #constantFields: readonly LogValue[]
  readonly #constantText: string
  /** ` name=` by field name. */
  readonly #labels = new Map<string, string>()
  /** Receives every line that is written; null while unused. */
  tap: ((line: LogRecord) => void) | null = null
  #filter: LogFilter
  /** The highest rank that any module logs: it decides nearly all lines that are not logged. */
  #maxRank = 0
  /** What waits to be written: text that did not fit the buffer, then the buffer. */
  #pending = ''
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #bufferUsed = 0
  #timeMs = 0
  #timeText = ''
  #state: 'idle' | 'scheduled' | 'writing' = 'idle'
  #dropped = 0

  constructor(options: LogOptions) {
    this.#format = options.format
    this.#out = options.write ?? createStdoutWriter()
    this.#write = this.#out
    this.#constantFields = options.constantFields ?? []
    this.#constantText = `${this.#formatFields(this.#constantFields)}\n`
    this.#initialFilter = parseLogFilter(options.level)
    this.#filter = this.#initialFilter
    this.filter = this.#initialFilter
  }

  /** The filter in use; a new one applies from the next line on. */
  get filter(): LogFilter {
    return this.#filter
  }

  set filter(filter: LogFilter) {
    this.#filter = filter
    this.#maxRank = Math.max(...[...filter.values()].map((level) => RANKS[level]))
  }

  /** The filter of the start. */
  get initialFilter(): LogFilter {
    return this.#initialFilter
  }

  /** Other processes write to the same output: lines must stay whole. */
  shareOutput(): void {
    // In a file, every write is atomic, whatever its length.
    if (!isStdoutFile()) this.#write = splitWrites(this.#out)
  }

  /** The other processes have exited. */
  unshareOutput(): void {
    this.#write = this.#out
  }

  /** True when a line of this level and module would be written. */
  allows(level: LoggingLevel, module: LogModule): boolean {
    const rank = RANKS[level]
    if (rank > this.#maxRank) return false
    return rank <= RANKS[this.#filter.get(module) ?? this.#filter.get('') ?? 'info']
  }

  /** One line; `fields` is name, value, name, value …, and undefined ones are left out. */
  write(
    level: LoggingLevel,
    module: LogModule,
    message: string,
    fields: readonly LogValue[],
  ): void {
    if (!this.allows(level, module)) return
    this.writeWithPrefix(this.buildPrefix(level, module, message, []), fields)
  }

  /** For frequent lines that start alike. */
  buildPrefix(
    level: LoggingLevel,
    module: LogModule,
    message: string,
    fields: readonly LogValue[],
  ): LogLinePrefix {
    const text = `\t${level}\t${escapeNonAscii(message)}${this.#formatFields(fields)}`
    return { level, module, message, fields, text }
  }

  /** Writes one line with further fields after those of the prefix; the caller has checked `allows`. */
  writeWithPrefix(prefix: LogLinePrefix, fields: readonly LogValue[]): void {
    const time = this.#formatTime()
    if (this.tap === null && this.#format === 'text')
      return this.#append(time + prefix.text + this.#formatFields(fields) + this.#constantText)
    const { level, module, message } = prefix
    const all = [...prefix.fields, ...fields]
    this.tap?.({ at: this.#timeMs, level, module, message, fields: all })
    this.#append(
      this.#format === 'json'
        ? formatJsonLine(time, level, message, [...all, ...this.#constantFields])
        : time + prefix.text + this.#formatFields(fields) + this.#constantText,
    )
  }

  /** Writes what is pending before it returns. */
  flush(): void {
    writeStdoutSync(this.#takePending())
  }

  /** Before the process exits: waits a moment for the write in progress, then flushes. */
  async end(): Promise<void> {
    const deadline = performance.now() + MAX_END_MS
    while (this.#state === 'writing') {
      if (performance.now() > deadline) return
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    this.flush()
  }

  /** Formatting a date costs more than all the rest of a line; many lines share a millisecond. */
  #formatTime(): string {
    const now = Date.now()
    if (now !== this.#timeMs) {
      this.#timeMs = now
      this.#timeText = new Date(now).toISOString()
    }
    return this.#timeText
  }

  #formatFields(fields: readonly LogValue[]): string {
    let text = ''
    for (let i = 0; i < fields.length; i += 2) {
      const value = fields[i + 1]
      if (value === undefined) continue
      text +=
        this.#labelOf(String(fields[i])) + (typeof value === 'string' ? quoteValue(value) : value)
    }
    return text
  }

  /** With cached labels a line has fewer parts and takes half the time. */
  #labelOf(name: string): string {
    const known = this.#labels.get(name)
    if (known !== undefined) return known
    const label = ` ${name}=`
    if (this.#labels.size < MAX_LABELS) this.#labels.set(name, label)
    return label
  }

  #append(line: string): void {
    if (this.#pendingLength > MAX_PENDING) return void this.#dropped++
    if (line.length > BUFFER_BYTES - this.#bufferUsed) this.#pending = this.#takePending()
    if (line.length > BUFFER_BYTES) this.#pending += line
    else this.#bufferUsed += this.#buffer.write(line, this.#bufferUsed, 'latin1')
    if (this.#state === 'idle') this.#scheduleFlush()
  }

  get #pendingLength(): number {
    return this.#pending.length + this.#bufferUsed
  }

  #takePending(): string {
    const text = this.#pending + this.#buffer.latin1Slice(0, this.#bufferUsed)
    this.#pending = ''
    this.#bufferUsed = 0
    return text
  }

  #scheduleFlush(): void {
    this.#state = 'scheduled'
    setTimeout(() => this.#startWrite(), FLUSH_MS).unref()
  }

  #startWrite(): void {
    this.#state = 'writing'
    this.#write(this.#takePending(), (lost) => this.#onWritten(lost))
  }

  /** Lines that were dropped are reported once a line can be written again. */
  #onWritten(lost = 0): void {
    this.#state = 'idle'
    if (lost > 0) this.#dropped += lost
    else if (this.#dropped > 0) this.#logDropped()
    if (this.#pendingLength > 0 && this.#state === 'idle') this.#scheduleFlush()
  }

  /** Adds the line after the pending ones, however many: it must not be dropped itself. */
  #logDropped(): void {
    const lines = this.#dropped
    const pending = this.#takePending()
    this.#dropped = 0
    this.write('warn', 'log', 'log lines dropped', ['lines', lines])
    this.#pending = pending + this.#takePending()
  }
}

/** Texts such as `12ms` in the text form; numbers in JSON, so that other programs can compare them. */
const DURATION_FIELDS: ReadonlySet<string> = new Set([
  'duration',
  'age',
  'silent',
  'gen_ai.server.time_to_first_token',
])

function formatJsonLine(
  time: string,
  level: LoggingLevel,
  message: string,
  fields: readonly LogValue[],
): string {
  const object: Record<string, LogValue> = { time, level, message }
  for (let i = 0; i < fields.length; i += 2) {
    const name = String(fields[i])
    const value = fields[i + 1]
    object[name] =
      typeof value === 'string' && DURATION_FIELDS.has(name) ? parseFloat(value) : value
  }
  return escapeNonAscii(JSON.stringify(object)) + '\n'
}

/** A value that could break the line or look like another field is quoted. */
function quoteValue(value: string): string {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c <= 0x20 || c === 0x22 || c === 0x3d || c >= 0x7f)
      return escapeNonAscii(JSON.stringify(value))
  }
  return value === '' ? '""' : value
}

/** Lines are ASCII, so that bytes of a client cannot control a terminal, and encoding is fast. */
function escapeNonAscii(text: string): string {
  return text.replace(/[^ -~]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}

// Writing to standard output: in one write, or, if other processes write there too, in pieces that the system keeps whole.
// No write blocks: a pipe without a reader would block a thread, and with it the end of the process.

const STDOUT = 1

/** The most bytes that a pipe takes atomically (PIPE_BUF of Linux). A longer line is written alone. */
export const MAX_PIPE_WRITE_BYTES = 4096

/** How long to wait before a retry when the reader is slow. */
const RETRY_MS = 20
/** How long an exiting process waits for a slow reader. */
const MAX_EXIT_MS = 200

/** `done` is called after the write, with the number of lines that were lost. */
type OutputWriter = (text: string, done: (lost?: number) => void) => void

/** A closed reader or a full disk loses lines; it never stops the gateway. */
export function createStdoutWriter(): OutputWriter {
  const output = fstatSync(STDOUT)
  if (!output.isFIFO() && !output.isSocket())
    return (text, done) => writeStdoutFile(Buffer.from(text, 'latin1'), done)
  // Node does not block on these. Each write gets its own error; one listener is enough for all logs.
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  return (text, done) => {
    unblockStdout()
    process.stdout.write(text, 'latin1', (error) =>
      error === null || error === undefined ? done() : done(countLines(text)),
    )
  }
}

/**
 * Processes that share a pipe share its blocking mode: each that starts sets it to blocking for all, and so does each
 * that exits and restores it.
 */
export function unblockStdout(): void {
  makeNonBlocking(process.stdout)
}

function ignore(): void {}

function isStdoutFile(): boolean {
  return fstatSync(STDOUT).isFile()
}

function splitWrites(out: OutputWriter): OutputWriter {
  return (text, done) => {
    const pieces = splitAtLines(text)
    let lost = 0
    const next = (more = 0): void => {
      lost += more
      const { value } = pieces.next()
      if (value === undefined) done(lost)
      else out(value, next)
    }
    next()
  }
}

/** Writes before it returns; what the reader does not take in time is lost. */
function writeStdoutSync(text: string): void {
  const deadline = performance.now() + MAX_EXIT_MS
  for (const piece of splitAtLines(text)) {
    let bytes: Uint8Array = Buffer.from(piece, 'latin1')
    while (bytes.length > 0)
      try {
        unblockStdout()
        bytes = bytes.subarray(writeSync(STDOUT, bytes))
      } catch (error) {
        // There is no other output on which to report this.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > deadline)
          return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      }
  }
}

/** Splits ASCII text into pieces of whole lines. */
export function* splitAtLines(text: string): Generator<string, undefined> {
  let from = 0
  while (from < text.length) {
    const fits = text.length - from <= MAX_PIPE_WRITE_BYTES
    const last = fits ? text.length - 1 : text.lastIndexOf('\n', from + MAX_PIPE_WRITE_BYTES - 1)
    const end = last >= from ? last : text.indexOf('\n', from)
    const to = end < 0 ? text.length : end + 1
    yield text.slice(from, to)
    from = to
  }
  return undefined
}

function writeStdoutFile(bytes: Buffer, done: (lost?: number) => void): void {
  write(STDOUT, bytes, (error, written) => {
    const rest = bytes.subarray(written ?? 0)
    if (error?.code === 'EAGAIN') setTimeout(() => writeStdoutFile(rest, done), RETRY_MS)
    else if (error !== null) done(countLines(rest.toString('latin1')))
    else if (rest.length > 0) writeStdoutFile(rest, done)
    else done()
  })
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}
