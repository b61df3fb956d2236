// LLM backends → groups of providers; and the `ai` policy, where nothing would read it.

import type { AiConfig, AiEntry, AiPolicyConfig } from '../llm-types.ts'
import type { Path } from '../error.ts'
import type { AiShape } from '../shape/ai.ts'
import { backendAuthOf, backendTlsOf } from './backend-policies.ts'
import type { Context } from './context.ts'

type EntryShape = Extract<AiShape, { provider: unknown }>

export function aiOf(context: Context, path: Path, shape: AiShape): AiConfig {
  if (!('groups' in shape)) return { groups: [[entryOf(context, path, shape)]] }
  return {
    groups: shape.groups.map(({ providers }, group) =>
      providers.map((one, at) =>
        entryOf(context, [...path, 'groups', group, 'providers', at], one),
      ),
    ),
  }
}

function entryOf(context: Context, path: Path, shape: EntryShape): AiEntry {
  const { name, provider, hostOverride: endpoint, pathOverride, pathPrefix } = shape
  const { backendAuth, backendTLS } = shape.policies ?? {}
  return {
    name,
    provider,
    endpoint,
    pathOverride,
    pathPrefix,
    auth: backendAuth === undefined ? null : backendAuthOf(backendAuth),
    tls:
      backendTLS === undefined
        ? null
        : backendTlsOf(context, [...path, 'policies', 'backendTLS'], backendTLS),
  }
}

const UNREAD = {
  llm: {
    fields: ['modelAliases'],
    reason: 'expected none: here clients ask by the names of models and virtualModels',
  },
  others: {
    fields: ['modelAliases', 'defaults', 'overrides'],
    reason: 'expected an ai backend: for others, bodies stay as they are',
  },
} as const

/** Refuses what no backend of a kind would read. */
export function refuseUnread(
  context: Context,
  path: Path,
  policy: AiPolicyConfig | null,
  kind: keyof typeof UNREAD,
): void {
  if (policy === null) return
  const { fields, reason } = UNREAD[kind]
  for (const name of fields)
    if (Object.keys(policy[name]).length > 0)
      context.problem([...path, name], `got ${name}, ${reason}`, 'key')
}
