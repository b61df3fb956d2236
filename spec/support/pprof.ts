// Reads a pprof profile with a parser for the specs, and with Go if it is installed.

import { spawnSync } from 'node:child_process'
import { gunzipSync } from 'node:zlib'
import { Profile } from 'pprof-format'

/** The path of Go's installer, and the name on the PATH. */
const PLACES = ['go', '/usr/local/go/bin/go']

export interface Read {
  /** `type/unit` of each value. */
  readonly types: string[]
  /** The first value of each stack, and the stack from the innermost out: `name file:line`. */
  readonly stacks: { readonly values: number[]; readonly frames: string[] }[]
  readonly period: number
  readonly duration: number
}

export function readProfile(bytes: Uint8Array): Read {
  const profile = Profile.decode(gunzipSync(bytes))
  const text = (index: number | bigint): string => profile.stringTable.strings[Number(index)] ?? ''
  const functions = new Map(profile.function.map((one) => [Number(one.id), one]))
  const locations = new Map(profile.location.map((one) => [Number(one.id), one]))
  const frameOf = (id: number | bigint): string => {
    const line = locations.get(Number(id))?.line[0]
    const one = functions.get(Number(line?.functionId))
    if (one === undefined) return '?'
    return `${text(one.name)} ${text(one.filename)}:${Number(line?.line)}`
  }
  return {
    types: profile.sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`),
    stacks: profile.sample.map(({ value, locationId }) => ({
      values: value.map(Number),
      frames: locationId.map(frameOf),
    })),
    period: Number(profile.period),
    duration: Number(profile.durationNanos),
  }
}

/** The output of `go tool pprof`; null without Go. */
export function goPprof(file: string, ...flags: string[]): string | null {
  for (const go of PLACES) {
    const { status, stdout, stderr } = spawnSync(go, ['tool', 'pprof', ...flags, file], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    if (status === 0) return stdout
    if (status !== null) throw new Error(`go tool pprof: ${stderr}`)
  }
  return null
}
