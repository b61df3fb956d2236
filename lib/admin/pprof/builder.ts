// Collects stacks with their values and makes the file that `go tool pprof` and its kin read.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Profile } from 'pprof-format'
import type { SampleInput } from 'pprof-format'
import type { Position } from '../../base/bundle-places.ts'
import { Sources } from './sources.ts'
import { Tables } from './tables.ts'
import type { ValueName } from './tables.ts'

/** As V8 tells it: lines count from 0, and -1 is nowhere. */
export interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

export interface Span {
  /** When it was begun, and for how long; on the clock of Date, in milliseconds. */
  readonly startedAt: number
  readonly duration: number
}

export class Builder {
  readonly #tables = new Tables()
  readonly #sources = new Sources()
  readonly #types: readonly ValueName[]
  readonly #samples: SampleInput[] = []

  constructor(...types: ValueName[]) {
    this.#types = types
  }

  /** The place of a frame; `line` counts from 1 and is where it was, unless it is 0. */
  locationOf(frame: CallFrame, line = 0): number {
    const start = this.#sources.positionOf(frame.url, frame.lineNumber + 1)
    const place = line === 0 ? start : this.#sources.positionOf(frame.url, line)
    // What was inlined from another file has lines that are none of this one.
    const isHere = place.file === start.file && place.line >= start.line
    const written = this.#sources.nameOf(frame.url, frame.functionName)
    const name = nameOf({ ...frame, functionName: written }, start)
    const functionId = this.#tables.functionOf(name, start.file, start.line)
    return this.#tables.locationOf(functionId, isHere ? place.line : start.line)
  }

  /** `locations` from the innermost out, `values` in the order of the types. */
  add(locations: readonly number[], values: readonly number[]): void {
    this.#samples.push({ locationId: [...locations], value: [...values] })
  }

  /** Compressed on another thread, made in pieces: requests go on meanwhile. */
  async finish(period: number, { startedAt, duration }: Span): Promise<Buffer> {
    const profile = new Profile({
      ...this.#tables.input(this.#types),
      sample: this.#samples,
      timeNanos: BigInt(startedAt) * 1_000_000n,
      durationNanos: Math.round(duration * 1e6),
      period,
    })
    return promisify(gzip)(await profile.encodeAsync())
  }
}

/** pprof adds up what has the same name, so ours say which file they are of; and it takes angle brackets for C++. */
function nameOf({ functionName, lineNumber, url }: CallFrame, { file, line }: Position): string {
  const name = functionName.replace(/[<>]/g, '')
  if (name === '' && url === '') return '(anonymous)'
  if (name === '') return lineNumber <= 0 ? `module (${file})` : `anonymous (${file}:${line})`
  return file.endsWith('.ts') ? `${name} (${file})` : name
}
