// Profiles of several processes that run the same code, as one: what stands on the same line is one place.

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { Profile } from 'pprof-format'
import type { SampleInput } from 'pprof-format'
import { Tables } from './tables.ts'
import type { ValueName } from './tables.ts'

type Id = number | bigint

/** Compressed, as each of them is; they are of one kind. */
export async function mergedPprof(packed: readonly Buffer[]): Promise<Buffer> {
  const merged = new Merged()
  for (const one of packed) merged.add(Profile.decode(await promisify(gunzip)(one)))
  return promisify(gzip)(await merged.profile.encodeAsync())
}

class Merged {
  readonly #tables = new Tables()
  readonly #samples: SampleInput[] = []
  /** What all have in common is that of the first. */
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
    return new Profile({ ...this.#tables.input(types), ...times, sample: this.#samples })
  }
}

function textsOf({ stringTable: { strings } }: Profile): (index: Id) => string {
  return (index) => strings[Number(index)] ?? ''
}

function typesOf(profile: Profile): ValueName[] {
  const text = textsOf(profile)
  return profile.sampleType.map(({ type, unit }) => [text(type), text(unit)])
}
