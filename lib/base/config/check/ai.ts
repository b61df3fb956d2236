// LLM backends → groups of providers.

import type { AiConfig, AiEntry } from '../llm-types.ts'
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
