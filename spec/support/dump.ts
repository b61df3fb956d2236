// The /config_dump of a configuration text.

import { buildConfigDump } from '../../lib/admin/config-dump.ts'
import type { ConfigDumpSource } from '../../lib/admin/config-dump.ts'
import { parseConfig } from '../../lib/config/load.ts'

export type Shown = Record<string, unknown>

export const ADDRESSES: ConfigDumpSource['addresses'] = {
  admin: { kind: 'localhost', port: 15000 },
  stats: { kind: 'localhost', port: 15020 },
  readiness: { kind: 'off' },
}

export function sourceOf(
  text: string,
  env: Record<string, string> = {},
  file = 'c.yaml',
): ConfigDumpSource {
  const config = parseConfig(text, { file, env })
  const loadedAt = new Date('2026-11-15T04:00:00Z')
  const nothing = { keySets: [], limits: [], statusOf: () => null, refusal: null }
  return { config, generation: 7, loadedAt, addresses: ADDRESSES, ...nothing }
}

/** The dump as a client parses it. */
export function dumpOf(text: string): Shown {
  return JSON.parse(JSON.stringify(buildConfigDump(sourceOf(text)))) as Shown
}

/** The value at a path of names and indexes. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>((part, key) => (part as Shown)[key], value)
}
