// Collects stacks with their values and makes the file that `go tool pprof` and its kin read.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Profile, StringTable } from 'pprof-format'
import type {
  FunctionInput,
  LocationInput,
  MappingInput,
  ProfileInput,
  SampleInput,
  ValueTypeInput,
} from 'pprof-format'
import type { Position } from '../../base/bundle-places.ts'
import { Sources } from './sources.ts'

/** As V8 tells it: lines count from 0, and -1 is nowhere. */
export interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** What is counted, and in what. */
type ValueName = readonly [type: string, unit: string]

export interface Span {
  /** When it was begun, and for how long; on the clock of Date, in milliseconds. */
  readonly startedAt: number
  readonly duration: number
}

export class Builder {
  readonly #strings = new StringTable()
  readonly #sources = new Sources()
  readonly #types: readonly ValueName[]
  readonly #functions = new Map<string, FunctionInput & { id: number }>()
  readonly #locations = new Map<string, LocationInput & { id: number }>()
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
    const functionId = this.#functionOf(name, start.file, start.line)
    const at = isHere ? place.line : start.line
    const key = `${functionId} ${at}`
    let location = this.#locations.get(key)
    if (location === undefined) {
      const id = this.#locations.size + 1
      location = { id, mappingId: 1, line: [{ functionId, line: at }] }
      this.#locations.set(key, location)
    }
    return location.id
  }

  /** `locations` from the innermost out, `values` in the order of the types. */
  add(locations: readonly number[], values: readonly number[]): void {
    this.#samples.push({ locationId: [...locations], value: [...values] })
  }

  /** Compressed on another thread, made in pieces: requests go on meanwhile. */
  async finish(period: number, { startedAt, duration }: Span): Promise<Buffer> {
    const sampleType = this.#types.map((type) => this.#typeOf(type))
    const last = this.#types.at(-1)
    const input: ProfileInput = {
      sampleType,
      sample: this.#samples,
      mapping: mappingOf(this.#strings),
      location: [...this.#locations.values()],
      function: [...this.#functions.values()],
      stringTable: this.#strings,
      timeNanos: BigInt(startedAt) * 1_000_000n,
      durationNanos: Math.round(duration * 1e6),
      period,
      ...(last !== undefined && { periodType: this.#typeOf(last) }),
    }
    return promisify(gzip)(await new Profile(input).encodeAsync())
  }

  #typeOf([type, unit]: ValueName): ValueTypeInput {
    return { type: this.#strings.dedup(type), unit: this.#strings.dedup(unit) }
  }

  #functionOf(name: string, file: string, startLine: number): number {
    const key = `${name} ${file} ${startLine}`
    let found = this.#functions.get(key)
    if (found === undefined) {
      const id = this.#functions.size + 1
      const index = this.#strings.dedup(name)
      const filename = this.#strings.dedup(file)
      found = { id, name: index, systemName: index, filename, startLine }
      this.#functions.set(key, found)
    }
    return found.id
  }
}

/** One program, whose functions, files and lines are all known. */
export function mappingOf(strings: StringTable): MappingInput[] {
  const filename = strings.dedup('gateway')
  return [{ id: 1, filename, hasFunctions: true, hasFilenames: true, hasLineNumbers: true }]
}

/** pprof adds up what has the same name, so ours say which file they are of; and it takes angle brackets for C++. */
function nameOf({ functionName, lineNumber, url }: CallFrame, { file, line }: Position): string {
  const name = functionName.replace(/[<>]/g, '')
  if (name === '' && url === '') return '(anonymous)'
  if (name === '') return lineNumber <= 0 ? `module (${file})` : `anonymous (${file}:${line})`
  return file.endsWith('.ts') ? `${name} (${file})` : name
}
