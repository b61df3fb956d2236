// What this version checks but does not do yet: a configuration that asks for it does not start.
// Each row goes when its behaviour comes.

import type { Path } from './error.ts'
import type { Told } from './wording.ts'

/** Of a route and of the sections. */
const POLICIES = ['csrf', 'delay', 'requestMirror']

/** Paths by part; a star is any name or index. */
const ROWS: readonly string[] = [
  ...POLICIES.map((name) => `*.policies.${name}`),
  ...POLICIES.map((name) => `routes.*.policies.${name}`),
]

const NOT_ENFORCED = 'is checked but not enforced by this version'

/** Refuses everything in the document that a row names, the outermost only. */
export function refuseUnenforced(data: unknown, told: Told): void {
  const found = ROWS.flatMap((row) => find(data, row.split('.'), []))
  const texts = new Set(found.map((path) => path.join('\0')))
  const isInside = (path: Path): boolean =>
    path.some((_, at) => at > 0 && texts.has(path.slice(0, at).join('\0')))
  for (const path of found)
    if (!isInside(path)) told.problem(path, `${NOT_ENFORCED}: remove it`, 'key')
}

function find(data: unknown, row: readonly string[], path: Path): Path[] {
  const [name, ...rest] = row
  if (name === undefined) return [path]
  if (typeof data !== 'object' || data === null) return []
  const keys = name === '*' ? Object.keys(data) : Object.hasOwn(data, name) ? [name] : []
  return keys.flatMap((key) => {
    const step = Array.isArray(data) ? Number(key) : key
    return find((data as Record<string, unknown>)[key], rest, [...path, step])
  })
}
