// Lines for people and machines on standard output. They are gathered for a moment and leave in one write off the
// main thread: a write per request would cost more than routing it, and a slow reader must not stop the gateway.

import { fstatSync, write, writeSync } from 'node:fs'
import { parseLogFilter } from './log-filter.ts'
import type { LogFilter, LoggingLevel } from './log-filter.ts'
import { makeNonBlocking } from './socket-handle.ts'

export type { LoggingLevel }

const RANKS = { off: -1, error: 0, warn: 1, info: 2, debug: 3, trace: 4 } as const

/** Who says something; a filter names them. */
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
  /** Where lines go; standard output unless a spec listens. */
  write?: OutputWriter
}

/** A line as it was given, before it became a text. */
export interface LogRecord {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly level: LoggingLevel
  readonly module: LogModule
  readonly message: string
  /** Name, value, name, value …; undefined ones are left out of the text. */
  readonly fields: readonly LogValue[]
}

/** What lines of one kind begin with, made a text once. */
export interface LogLinePrefix {
  readonly level: LoggingLevel
  readonly module: LogModule
  readonly message: string
  readonly fields: readonly LogValue[]
  readonly text: string
}

/** Names of fields that are kept with what is around them. They are words of the program, and fewer. */
const MAX_LABELS = 256

/** How long lines gather. */
const FLUSH_MS = 20
/** What may gather while the reader is slow; lines above are dropped, and counted in the next one. */
const MAX_PENDING = 1_048_576
/** Lines become bytes as they come: put together later, their pieces would have to be looked for all over the heap. */
const ROOM_BYTES = 65_536
/** How long the end of the process waits for what is on its way out, and how often it looks. */
const END_MS = 1_000
const LOOK_MS = 5

export class Log {
  readonly #format: 'text' | 'json'
  readonly #out: OutputWriter
  #write: OutputWriter
  readonly #first: LogFilter
  readonly #always: readonly LogValue[]
  readonly #alwaysText: string
  /** By name of a field, what stands in front of its value. */
  readonly #labels = new Map<string, string>()
  /** Hears of every line that is written; null while nobody wants to. */
  tap: ((line: LogRecord) => void) | null = null
  #filter: LogFilter
  /** The most that any module says: nearly all lines that are not wanted are known by this alone. */
  #most = 0
  /** What waits to be written: what there was no more room for, and what is in it. */
  #pending = ''
  readonly #room = Buffer.allocUnsafeSlow(ROOM_BYTES)
  #used = 0
  #stamped = 0
  #stamp = ''
  #state: 'idle' | 'gathering' | 'writing' = 'idle'
  #dropped = 0

  constructor(options: LogOptions) {
    this.#format = options.format
    this.#out = options.write ?? createStdoutWriter()
    this.#write = this.#out
    this.#always = options.constantFields ?? []
    this.#alwaysText = `${this.#text(this.#always)}\n`
    this.#first = parseLogFilter(options.level)
    this.#filter = this.#first
    this.filter = this.#first
  }

  /** What is written now; another one holds from the next line on. */
  get filter(): LogFilter {
    return this.#filter
  }

  set filter(filter: LogFilter) {
    this.#filter = filter
    this.#most = Math.max(...[...filter.values()].map((level) => RANKS[level]))
  }

  /** The one it began with. */
  get initialFilter(): LogFilter {
    return this.#first
  }

  /** Other processes write to the same place: lines stay whole. */
  shareOutput(): void {
    // In a file every write is whole, whatever its length.
    if (!isStdoutFile()) this.#write = splitWrites(this.#out)
  }

  /** They are gone. */
  unshareOutput(): void {
    this.#write = this.#out
  }

  /** True when a line of this level and module would be written. */
  allows(level: LoggingLevel, module: LogModule): boolean {
    const rank = RANKS[level]
    if (rank > this.#most) return false
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

  /** For lines that are many and begin alike. */
  buildPrefix(
    level: LoggingLevel,
    module: LogModule,
    message: string,
    fields: readonly LogValue[],
  ): LogLinePrefix {
    const text = `\t${level}\t${escapeNonAscii(message)}${this.#text(fields)}`
    return { level, module, message, fields, text }
  }

  /** One line with more fields behind those of its opening; whoever calls knows that it is allowed. */
  writeWithPrefix(opening: LogLinePrefix, fields: readonly LogValue[]): void {
    const time = this.#time()
    if (this.tap === null && this.#format === 'text')
      return this.#append(time + opening.text + this.#text(fields) + this.#alwaysText)
    const { level, module, message } = opening
    const all = [...opening.fields, ...fields]
    this.tap?.({ at: this.#stamped, level, module, message, fields: all })
    this.#append(
      this.#format === 'json'
        ? formatJsonLine(time, level, message, [...all, ...this.#always])
        : time + opening.text + this.#text(fields) + this.#alwaysText,
    )
  }

  /** Writes what is pending before it returns. */
  flush(): void {
    writeStdoutSync(this.#take())
  }

  /** Before the process exits: behind what is on its way out, for which it waits a moment. */
  async end(): Promise<void> {
    const until = performance.now() + END_MS
    while (this.#state === 'writing') {
      if (performance.now() > until) return
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
    this.flush()
  }

  /** Formatting a date costs more than all the rest of a line; many lines share a millisecond. */
  #time(): string {
    const now = Date.now()
    if (now !== this.#stamped) {
      this.#stamped = now
      this.#stamp = new Date(now).toISOString()
    }
    return this.#stamp
  }

  #text(fields: readonly LogValue[]): string {
    let text = ''
    for (let i = 0; i < fields.length; i += 2) {
      const value = fields[i + 1]
      if (value === undefined) continue
      text +=
        this.#labelOf(String(fields[i])) + (typeof value === 'string' ? quoteValue(value) : value)
    }
    return text
  }

  /** Of fewer pieces a line is put together in half the time. */
  #labelOf(name: string): string {
    const known = this.#labels.get(name)
    if (known !== undefined) return known
    const label = ` ${name}=`
    if (this.#labels.size < MAX_LABELS) this.#labels.set(name, label)
    return label
  }

  #append(line: string): void {
    if (this.#waiting > MAX_PENDING) return void this.#dropped++
    if (line.length > ROOM_BYTES - this.#used) this.#pending = this.#take()
    if (line.length > ROOM_BYTES) this.#pending += line
    else this.#used += this.#room.write(line, this.#used, 'latin1')
    if (this.#state === 'idle') this.#gather()
  }

  get #waiting(): number {
    return this.#pending.length + this.#used
  }

  #take(): string {
    const text = this.#pending + this.#room.latin1Slice(0, this.#used)
    this.#pending = ''
    this.#used = 0
    return text
  }

  #gather(): void {
    this.#state = 'gathering'
    setTimeout(() => this.#send(), FLUSH_MS).unref()
  }

  #send(): void {
    this.#state = 'writing'
    this.#write(this.#take(), (lost) => this.#sent(lost))
  }

  /** Lines that were lost are told of once there is a place for it. */
  #sent(lost = 0): void {
    this.#state = 'idle'
    if (lost > 0) this.#dropped += lost
    else if (this.#dropped > 0) this.#tellDropped()
    if (this.#waiting > 0 && this.#state === 'idle') this.#gather()
  }

  /** Behind those that wait, however many do: it must not be dropped itself. */
  #tellDropped(): void {
    const lines = this.#dropped
    const waiting = this.#take()
    this.#dropped = 0
    this.write('warn', 'log', 'log lines dropped: they could not be written', ['lines', lines])
    this.#pending = waiting + this.#take()
  }
}

function formatJsonLine(
  time: string,
  level: LoggingLevel,
  message: string,
  fields: readonly LogValue[],
): string {
  const object: Record<string, LogValue> = { time, level, message }
  for (let i = 0; i < fields.length; i += 2) object[String(fields[i])] = fields[i + 1]
  return escapeNonAscii(JSON.stringify(object)) + '\n'
}

/** Anything that could break the line or be taken for another field is quoted. */
function quoteValue(value: string): string {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c <= 0x20 || c === 0x22 || c === 0x3d || c >= 0x7f)
      return escapeNonAscii(JSON.stringify(value))
  }
  return value === '' ? '""' : value
}

/** Lines are ASCII, so that no byte of a client's can mean something to a terminal, and bytes are quick to make. */
function escapeNonAscii(text: string): string {
  return text.replace(/[^ -~]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}

// Puts the text of the log on standard output: in one write, or, where other processes write there too, in pieces that the
// system keeps whole. It is never waited for: a pipe that nobody reads would hold a thread, and with it the end of the process.

const STDOUT = 1

/** What a pipe takes in one go, whoever else writes (PIPE_BUF of Linux). A line above that goes alone. */
export const MAX_PIPE_WRITE_BYTES = 4096

/** How long a reader that is slow is left alone. */
const AGAIN_MS = 20
/** How long a process that exits waits for one. */
const EXIT_MS = 200

/** `done` is called when the text is out, with how many of its lines never will be. */
type OutputWriter = (text: string, done: (lost?: number) => void) => void

/** A reader that is gone, or a disk that is full, loses lines; it never stops the gateway. */
export function createStdoutWriter(): OutputWriter {
  const place = fstatSync(STDOUT)
  if (!place.isFIFO() && !place.isSocket())
    return (text, done) => writeStdoutFile(Buffer.from(text, 'latin1'), done)
  // Node does not block on these. Each write hears of its fault by itself; however many logs there are, one listener is enough.
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore)
  return (text, done) => {
    unblockStdout()
    process.stdout.write(text, 'latin1', (error) =>
      error === null || error === undefined ? done() : done(countLines(text)),
    )
  }
}

/**
 * Whether writes block is the same for all processes that share a pipe: each one that starts makes them block for all, and
 * so does one that ends and leaves it as it was.
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

/** Before it returns; what nobody takes is given up. */
function writeStdoutSync(text: string): void {
  const until = performance.now() + EXIT_MS
  for (const piece of splitAtLines(text)) {
    let bytes: Uint8Array = Buffer.from(piece, 'latin1')
    while (bytes.length > 0)
      try {
        unblockStdout()
        bytes = bytes.subarray(writeSync(STDOUT, bytes))
      } catch (error) {
        // Nobody reads any more; there is no other place to say so.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > until) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS)
      }
  }
}

/** Whole lines of ASCII. */
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
    if (error?.code === 'EAGAIN') setTimeout(() => writeStdoutFile(rest, done), AGAIN_MS)
    else if (error !== null) done(countLines(rest.toString('latin1')))
    else if (rest.length > 0) writeStdoutFile(rest, done)
    else done()
  })
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}
