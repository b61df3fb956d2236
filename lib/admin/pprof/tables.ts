// The tables of a profile: functions, lines in them, and the texts they are called by, each once.

import { StringTable } from 'pprof-format'
import type { FunctionInput, LocationInput, ProfileInput, ValueTypeInput } from 'pprof-format'

/** What is counted, and in what. */
export type ValueName = readonly [type: string, unit: string]

export class Tables {
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

  /** As a profile has them; `types` is what its samples count. */
  input(types: readonly ValueName[]): ProfileInput {
    const sampleType = types.map((type) => this.#typeOf(type))
    const periodType = sampleType.at(-1)
    // One program, whose functions, files and lines are all known.
    const filename = this.#strings.dedup('gateway')
    const known = { hasFunctions: true, hasFilenames: true, hasLineNumbers: true }
    return {
      sampleType,
      mapping: [{ id: 1, filename, ...known }],
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
