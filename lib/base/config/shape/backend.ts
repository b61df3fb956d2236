// What users write under `backends`: where answers come from, of exactly one kind each.

import { z } from 'zod'
import { AI_BACKEND } from './ai.ts'
import { MCP_BACKEND } from './mcp.ts'
import { text, unsupported } from './parts.ts'
import { BACKEND_POLICIES } from './policies.ts'
import { endpoint, partOfKey, refuse } from './scalars.ts'

const KINDS = {
  host: endpoint.optional().describe('`host:port`, `[ipv6]:port` or `unix:/path`'),
  mcp: MCP_BACKEND.optional(),
  ai: AI_BACKEND.optional(),
  ...unsupported('service', 'dynamic', 'internal', 'aws', 'routeGroup', 'invalid'),
}

const REFERENCE = { backend: text.optional().describe('Name of one of the top-level `backends`') }

type Kinds = 'host' | 'mcp' | 'ai' | 'backend'

/** How many kinds of backend an entry names. */
function checkKinds(names: readonly Kinds[]) {
  const quoted = names.map((name) => `'${name}'`).join(', ')
  return (entry: Partial<Record<Kinds, unknown>>, context: Parameters<typeof refuse>[0]): void => {
    const found = names.filter((name) => entry[name] !== undefined)
    if (found.length === 1) return
    const got = found.length === 0 ? 'none' : found.join(' and ')
    const many = found.length > 1 ? ', two backend kinds in one entry' : ''
    refuse(context, `got ${got}${many}, expected exactly one of ${quoted}`)
  }
}

const requireOne = (names: readonly string[]) => ({
  oneOf: names.map((name) => ({ required: [name] })),
})

const ANY: readonly Kinds[] = ['host', 'mcp', 'ai', 'backend']
const OWN: readonly Kinds[] = ['host', 'mcp', 'ai']

/** In a route. */
export const BACKEND = z
  .strictObject({
    ...KINDS,
    ...REFERENCE,
    weight: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('Share of requests; 0 is never chosen')
      .meta({ preset: 1 }),
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(requireOne(ANY))
  .superRefine(checkKinds(ANY))

export type BackendShape = z.output<typeof BACKEND>

/** At the top level, to be referred to by name. */
export const NAMED_BACKEND = z
  .strictObject({
    name: partOfKey.describe('What routes refer to'),
    ...KINDS,
    policies: BACKEND_POLICIES.optional(),
  })
  .meta(requireOne(OWN))
  .superRefine(checkKinds(OWN))

export type NamedBackendShape = z.output<typeof NAMED_BACKEND>
