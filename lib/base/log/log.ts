// Lines for people and machines on standard output. They are gathered for a moment and leave in one write off the
// main thread: a write per request would cost more than routing it, and a slow reader must not stop the gateway.

import { filterOf } from '../config/log-filter.ts'
import type { Filter, Level } from '../config/log-filter.ts'
import { inPieces, isFileOut, standardOut, writeOutNow } from './write-out.ts'
import type { WriteOut } from './write-out.ts'

export type { Level }

const RANKS = { off: -1, error: 0, warn: 1, info: 2, debug: 3, trace: 4 } as const

/** Who says something; a filter names them. */
export const MODULES = [
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

export type Module = (typeof MODULES)[number]

export type Value = string | number | boolean | undefined

export interface LogOptions {
  /** `info`, or with modules: `info,accept=debug`. */
  level: string
  format: 'text' | 'json'
  /** Name, value, name, value … at the end of every line. */
  always?: readonly Value[]
  /** Where lines go; standard output unless a spec listens. */
  write?: WriteOut
}

/** A line as it was given, before it became a text. */
export interface WrittenLine {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly level: Level
  readonly module: Module
  readonly message: string
  /** Name, value, name, value …; undefined ones are left out of the text. */
  readonly fields: readonly Value[]
}

/** What lines of one kind begin with, made a text once. */
export interface Opening {
  readonly level: Level
  readonly module: Module
  readonly message: string
  readonly fields: readonly Value[]
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
  readonly #out: WriteOut
  #write: WriteOut
  readonly #first: Filter
  readonly #always: readonly Value[]
  readonly #alwaysText: string
  /** By name of a field, what stands in front of its value. */
  readonly #labels = new Map<string, string>()
  /** Hears of every line that is written; null while nobody wants to. */
  tap: ((line: WrittenLine) => void) | null = null
  #filter: Filter
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
    this.#out = options.write ?? standardOut()
    this.#write = this.#out
    this.#always = options.always ?? []
    this.#alwaysText = `${this.#text(this.#always)}\n`
    this.#first = filterOf(options.level)
    this.#filter = this.#first
    this.filter = this.#first
  }

  /** What is written now; another one holds from the next line on. */
  get filter(): Filter {
    return this.#filter
  }

  set filter(filter: Filter) {
    this.#filter = filter
    this.#most = Math.max(...[...filter.values()].map((level) => RANKS[level]))
  }

  /** The one it began with. */
  get firstFilter(): Filter {
    return this.#first
  }

  /** Other processes write to the same place: lines stay whole. */
  share(): void {
    // In a file every write is whole, whatever its length.
    if (!isFileOut()) this.#write = inPieces(this.#out)
  }

  /** They are gone. */
  unshare(): void {
    this.#write = this.#out
  }

  /** True when a line of this level and module would be written. */
  allows(level: Level, module: Module): boolean {
    const rank = RANKS[level]
    if (rank > this.#most) return false
    return rank <= RANKS[this.#filter.get(module) ?? this.#filter.get('') ?? 'info']
  }

  /** One line; `fields` is name, value, name, value …, and undefined ones are left out. */
  line(level: Level, module: Module, message: string, fields: readonly Value[]): void {
    if (!this.allows(level, module)) return
    this.lineOf(this.opening(level, module, message, []), fields)
  }

  /** For lines that are many and begin alike. */
  opening(level: Level, module: Module, message: string, fields: readonly Value[]): Opening {
    const text = `\t${level}\t${ascii(message)}${this.#text(fields)}`
    return { level, module, message, fields, text }
  }

  /** One line with more fields behind those of its opening; whoever calls knows that it is allowed. */
  lineOf(opening: Opening, fields: readonly Value[]): void {
    const time = this.#time()
    if (this.tap === null && this.#format === 'text')
      return this.#append(time + opening.text + this.#text(fields) + this.#alwaysText)
    const { level, module, message } = opening
    const all = [...opening.fields, ...fields]
    this.tap?.({ at: this.#stamped, level, module, message, fields: all })
    this.#append(
      this.#format === 'json'
        ? jsonLine(time, level, message, [...all, ...this.#always])
        : time + opening.text + this.#text(fields) + this.#alwaysText,
    )
  }

  /** Writes what is pending before it returns. */
  flush(): void {
    writeOutNow(this.#take())
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

  #text(fields: readonly Value[]): string {
    let text = ''
    for (let i = 0; i < fields.length; i += 2) {
      const value = fields[i + 1]
      if (value === undefined) continue
      text += this.#labelOf(String(fields[i])) + (typeof value === 'string' ? quoted(value) : value)
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
    this.line('warn', 'log', 'log lines dropped: they could not be written', ['lines', lines])
    this.#pending = waiting + this.#take()
  }
}

function jsonLine(time: string, level: Level, message: string, fields: readonly Value[]): string {
  const object: Record<string, Value> = { time, level, message }
  for (let i = 0; i < fields.length; i += 2) object[String(fields[i])] = fields[i + 1]
  return ascii(JSON.stringify(object)) + '\n'
}

/** Anything that could break the line or be taken for another field is quoted. */
function quoted(value: string): string {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c <= 0x20 || c === 0x22 || c === 0x3d || c >= 0x7f) return ascii(JSON.stringify(value))
  }
  return value === '' ? '""' : value
}

/** Lines are ASCII, so that no byte of a client's can mean something to a terminal, and bytes are quick to make. */
function ascii(text: string): string {
  return text.replace(/[^ -~]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'))
}
