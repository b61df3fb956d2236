// Lines for people and machines on standard output. Lines are gathered within a tick and leave in one write:
// a write per request would cost more than routing it.

import { writeSync } from 'node:fs'

export type Level = 'error' | 'warn' | 'info' | 'debug' | 'trace'

const RANKS: Record<Level, number> = { error: 0, warn: 1, info: 2, debug: 3, trace: 4 }

export type Value = string | number | boolean | undefined

export interface LogOptions {
  /** `info`, or with modules: `info,accept=debug`. */
  level: string
  format: 'text' | 'json'
  /** Where lines go; standard output unless a spec listens. */
  write?: (text: string) => void
}

/** What may gather before it is written at once, tick or not. */
const MAX_PENDING = 65_536

export class Log {
  readonly #format: 'text' | 'json'
  readonly #write: (text: string) => void
  /** By module; '' is everything else. */
  readonly #levels = new Map<string, number>()
  #pending = ''
  #stamped = 0
  #stamp = ''
  #flush: NodeJS.Immediate | null = null

  constructor(options: LogOptions) {
    this.#format = options.format
    this.#write = options.write ?? writeOut
    for (const part of options.level.split(',')) {
      const [module, level] = part.includes('=') ? part.split('=') : ['', part]
      this.#levels.set(module!.trim(), RANKS[level!.trim() as Level])
    }
  }

  /** True when a line of this level and module would be written. */
  allows(level: Level, module: string): boolean {
    const limit = this.#levels.get(module) ?? this.#levels.get('') ?? RANKS.info
    return RANKS[level] <= limit
  }

  /** One line; `fields` is name, value, name, value …, and undefined ones are left out. */
  line(level: Level, module: string, message: string, fields: readonly Value[]): void {
    if (!this.allows(level, module)) return
    const time = this.#time()
    this.#append(
      this.#format === 'json'
        ? jsonLine(time, level, message, fields)
        : textLine(time, level, message, fields),
    )
  }

  /** Writes what is pending; the process calls it before it exits. */
  flush(): void {
    if (this.#flush !== null) clearImmediate(this.#flush)
    this.#flush = null
    const text = this.#pending
    this.#pending = ''
    if (text !== '') this.#write(text)
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

  #append(line: string): void {
    this.#pending += line
    if (this.#pending.length > MAX_PENDING) return this.flush()
    this.#flush ??= setImmediate(() => this.flush())
  }
}

function textLine(time: string, level: Level, message: string, fields: readonly Value[]): string {
  let line = time + '\t' + level + '\t' + message
  for (let i = 0; i < fields.length; i += 2) {
    const value = fields[i + 1]
    if (value === undefined) continue
    line += ' ' + fields[i] + '=' + (typeof value === 'string' ? quoted(value) : value)
  }
  return line + '\n'
}

function jsonLine(time: string, level: Level, message: string, fields: readonly Value[]): string {
  const object: Record<string, Value> = { time, level, message }
  for (let i = 0; i < fields.length; i += 2) object[String(fields[i])] = fields[i + 1]
  return JSON.stringify(object) + '\n'
}

/** Anything that could break the line or be taken for another field is quoted. */
function quoted(value: string): string {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c <= 0x20 || c === 0x22 || c === 0x3d || c >= 0x7f) return JSON.stringify(value)
  }
  return value === '' ? '""' : value
}

function writeOut(text: string): void {
  let bytes: Uint8Array = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes))
    } catch (error) {
      // A reader that is gone or too slow loses lines; it never stops the gateway.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') continue
      return
    }
  }
}
