// LLM backends → groups of providers.

import type { AiConfig, AiEntry } from '../llm-types.ts'
import type { AiShape } from '../shape/ai.ts'

type EntryShape = Extract<AiShape, { provider: unknown }>

export function aiOf(shape: AiShape): AiConfig {
  if (!('groups' in shape)) return { groups: [[entryOf(shape)]] }
  return { groups: shape.groups.map(({ providers }) => providers.map(entryOf)) }
}

function entryOf(shape: EntryShape): AiEntry {
  const { name, provider, hostOverride: endpoint, pathOverride, pathPrefix, tokenize } = shape
  return { name, provider, endpoint, pathOverride, pathPrefix, tokenize }
}
