// Builds and merges profiles in the pprof format, as read by `go tool pprof`.

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { Profile, StringTable } from 'pprof-format'
import type {
  FunctionInput,
  LocationInput,
  ProfileInput,
  SampleInput,
  ValueTypeInput,
} from 'pprof-format'
import type { SourcePosition } from '../../core/source-positions.ts'
import { SourceNames } from './profile-sources.ts'

/** As in V8: lines count from 0, and -1 means unknown. */
export interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

export interface ProfileSpan {
  /** Start and duration in milliseconds, on the clock of Date. */
  readonly startedAt: number
  readonly duration: number
}

export class PprofBuilder {
  readonly #tables = new ProfileTables()
  readonly #sources = new SourceNames()
  readonly #types: readonly ValueName[]
  readonly #samples: SampleInput[] = []

  constructor(...types: ValueName[]) {
    this.#types = types
  }

  /** The location id of a frame; `line` counts from 1 and is the executed line, 0 for unknown. */
  locationOf(frame: CallFrame, line = 0): number {
    const start = this.#sources.positionOf(frame.url, frame.lineNumber + 1)
    const position = line === 0 ? start : this.#sources.positionOf(frame.url, line)
    // Inlined code of another file has lines that do not belong to this one.
    const isHere = position.file === start.file && position.line >= start.line
    const functionName = this.#sources.nameOf(frame.url, frame.functionName)
    const name = frameNameOf({ ...frame, functionName }, start)
    const functionId = this.#tables.functionOf(name, start.file, start.line)
    return this.#tables.locationOf(functionId, isHere ? position.line : start.line)
  }

  /** `locations` from the innermost frame outwards, `values` in the order of the types. */
  add(locations: readonly number[], values: readonly number[]): void {
    this.#samples.push({ locationId: [...locations], value: [...values] })
  }

  /** Encoded in pieces and compressed on another thread, so that requests are served meanwhile. */
  async finish(period: number, { startedAt, duration }: ProfileSpan): Promise<Buffer> {
    const profile = new Profile({
      ...this.#tables.toProfileInput(this.#types),
      sample: this.#samples,
      timeNanos: BigInt(startedAt) * 1_000_000n,
      durationNanos: Math.round(duration * 1e6),
      period,
    })
    return promisify(gzip)(await profile.encodeAsync())
  }
}

/** pprof merges functions with equal names, so a name contains its file. It reads angle brackets as C++ templates. */
function frameNameOf(
  { functionName, lineNumber, url }: CallFrame,
  { file, line }: SourcePosition,
): string {
  const name = functionName.replace(/[<>]/g, '')
  if (name === '' && url === '') return '(anonymous)'
  if (name === '') return lineNumber <= 0 ? `module (${file})` : `anonymous (${file}:${line})`
  return file.endsWith('.ts') ? `${name} (${file})` : name
}

/** Type and unit of a sample value. */
type ValueName = readonly [type: string, unit: string]

/** The functions, locations and strings of a profile, each once. */
class ProfileTables {
  readonly #strings = new StringTable()
  readonly #functions = new Map<string, FunctionInput & { id: number }>()
  readonly #locations = new Map<string, LocationInput & { id: number }>()

  functionOf(name: string, file: string, startLine: number): number {
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

  locationOf(functionId: number, line: number): number {
    const key = `${functionId} ${line}`
    let found = this.#locations.get(key)
    if (found === undefined) {
      found = { id: this.#locations.size + 1, mappingId: 1, line: [{ functionId, line }] }
      this.#locations.set(key, found)
    }
    return found.id
  }

  /** The tables as a profile holds them; `types` are the types of its sample values. */
  toProfileInput(types: readonly ValueName[]): ProfileInput {
    const sampleType = types.map((type) => this.#typeOf(type))
    const periodType = sampleType.at(-1)
    // One mapping, whose functions, files and lines are all known.
    const filename = this.#strings.dedup('gateway')
    const flags = { hasFunctions: true, hasFilenames: true, hasLineNumbers: true }
    return {
      sampleType,
      mapping: [{ id: 1, filename, ...flags }],
      location: [...this.#locations.values()],
      function: [...this.#functions.values()],
      stringTable: this.#strings,
      ...(periodType !== undefined && { periodType }),
    }
  }

  #typeOf([type, unit]: ValueName): ValueTypeInput {
    return { type: this.#strings.dedup(type), unit: this.#strings.dedup(unit) }
  }
}

type ProfileId = number | bigint

/** Merges compressed profiles of one kind, of processes that run the same code; equal lines become one location. */
export async function mergeProfiles(compressed: readonly Buffer[]): Promise<Buffer> {
  const merged = new MergedProfile()
  for (const file of compressed) merged.add(Profile.decode(await promisify(gunzip)(file)))
  return promisify(gzip)(await merged.profile.encodeAsync())
}

class MergedProfile {
  readonly #tables = new ProfileTables()
  readonly #samples: SampleInput[] = []
  /** Types and times of the result are those of the first profile. */
  #first: Profile | null = null

  add(profile: Profile): void {
    this.#first ??= profile
    const tables = this.#tables
    const text = textsOf(profile)
    const functions = new Map(
      profile.function.map(({ id, name, filename, startLine }) => [
        Number(id),
        tables.functionOf(text(name), text(filename), Number(startLine)),
      ]),
    )
    const locations = new Map(
      profile.location.map(({ id, line: [first] }) => [
        Number(id),
        tables.locationOf(functions.get(Number(first?.functionId)) ?? 0, Number(first?.line ?? 0)),
      ]),
    )
    for (const { locationId, value } of profile.sample)
      this.#samples.push({
        locationId: locationId.map((id) => locations.get(Number(id)) ?? 0),
        value,
      })
  }

  get profile(): Profile {
    const { timeNanos = 0, durationNanos = 0, period = 0 } = this.#first ?? {}
    const types = this.#first === null ? [] : typesOf(this.#first)
    const times = { timeNanos, durationNanos, period }
    return new Profile({ ...this.#tables.toProfileInput(types), ...times, sample: this.#samples })
  }
}

function textsOf({ stringTable: { strings } }: Profile): (index: ProfileId) => string {
  return (index) => strings[Number(index)] ?? ''
}

function typesOf(profile: Profile): ValueName[] {
  const text = textsOf(profile)
  return profile.sampleType.map(({ type, unit }) => [text(type), text(unit)])
}
