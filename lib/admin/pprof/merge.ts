// Profiles of several processes that run the same code, as one: what stands on the same line is one place.

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { Profile, StringTable } from 'pprof-format'
import type { FunctionInput, LocationInput, SampleInput, ValueType } from 'pprof-format'
import { mappingOf } from './builder.ts'

type Id = number | bigint

/** Compressed, as each of them is; they are of one kind. */
export async function mergedPprof(packed: readonly Buffer[]): Promise<Buffer> {
  const merged = new Merged()
  for (const one of packed) merged.add(Profile.decode(await promisify(gunzip)(one)))
  return promisify(gzip)(await merged.profile.encodeAsync())
}

class Merged {
  readonly #strings = new StringTable()
  readonly #functions = new Map<string, FunctionInput & { id: number }>()
  readonly #locations = new Map<string, LocationInput & { id: number }>()
  readonly #samples: SampleInput[] = []
  /** What all have in common is that of the first. */
  #first: Profile | null = null
  #textOfFirst: (index: Id) => string = String

  add(profile: Profile): void {
    const { strings } = profile.stringTable
    const text = (index: Id): string => strings[Number(index)] ?? ''
    if (this.#first === null) {
      this.#first = profile
      this.#textOfFirst = text
    }
    const functions = new Map(
      profile.function.map(({ id, name, filename, startLine }) => [
        Number(id),
        this.#functionOf(text(name), text(filename), Number(startLine)),
      ]),
    )
    const locations = new Map(
      profile.location.map(({ id, line: [first] }) => [
        Number(id),
        this.#locationOf(functions.get(Number(first?.functionId)) ?? 0, Number(first?.line ?? 0)),
      ]),
    )
    for (const { locationId, value } of profile.sample)
      this.#samples.push({
        locationId: locationId.map((id) => locations.get(Number(id)) ?? 0),
        value,
      })
  }

  get profile(): Profile {
    const first = this.#first
    const { sampleType = [], timeNanos = 0, durationNanos = 0, period = 0 } = first ?? {}
    const typeOf = ({ type, unit }: ValueType) => ({
      type: this.#strings.dedup(this.#textOfFirst(type)),
      unit: this.#strings.dedup(this.#textOfFirst(unit)),
    })
    const types = sampleType.map(typeOf)
    const periodType = types.at(-1)
    return new Profile({
      sampleType: types,
      sample: this.#samples,
      mapping: mappingOf(this.#strings),
      location: [...this.#locations.values()],
      function: [...this.#functions.values()],
      stringTable: this.#strings,
      timeNanos,
      durationNanos,
      period,
      ...(periodType !== undefined && { periodType }),
    })
  }

  #functionOf(name: string, file: string, startLine: number): number {
    const key = `${name} ${file} ${startLine}`
    let found = this.#functions.get(key)
    if (found === undefined) {
      const index = this.#strings.dedup(name)
      const filename = this.#strings.dedup(file)
      const id = this.#functions.size + 1
      found = { id, name: index, systemName: index, filename, startLine }
      this.#functions.set(key, found)
    }
    return found.id
  }

  #locationOf(functionId: number, line: number): number {
    const key = `${functionId} ${line}`
    let found = this.#locations.get(key)
    if (found === undefined) {
      found = { id: this.#locations.size + 1, mappingId: 1, line: [{ functionId, line }] }
      this.#locations.set(key, found)
    }
    return found.id
  }
}
