// What answers a request. A provider knows its own paths; the format that a route gives a path decides for all others.

import type { LlmFormat } from '../../../base/config/llm-types.ts'
import type { RequestHead } from '../../../base/wire/head.ts'
import { answerTo, wholeSaid } from './answer.ts'
import { CHAT } from './chat.ts'
import { COMPLETIONS } from './completions.ts'
import { drillFault } from './drills.ts'
import { EMBEDDINGS } from './embeddings.ts'
import { GEMINI, GEMINI_COUNT_TOKENS } from './gemini.ts'
import { COUNT_TOKENS, MESSAGES } from './messages.ts'
import { ANTHROPIC_MODELS, OPENAI_MODELS } from './models.ts'
import { RESPONSES } from './responses.ts'
import type { Endpoint, ErrorStyle, Manner } from './types.ts'

const BY_FORMAT: Partial<Record<LlmFormat, Endpoint>> = {
  completions: speaking(CHAT),
  messages: speaking(MESSAGES),
  anthropicTokenCount: COUNT_TOKENS,
  responses: speaking(RESPONSES),
  embeddings: EMBEDDINGS,
  models: OPENAI_MODELS,
  generateContent: speaking(GEMINI),
  geminiCountTokens: GEMINI_COUNT_TOKENS,
}

/** The first that a path ends with counts. */
const BY_PATH: readonly (readonly [string, Endpoint | undefined])[] = [
  ['/chat/completions', BY_FORMAT.completions],
  ['/completions', speaking(COMPLETIONS)],
  ['/messages', BY_FORMAT.messages],
  ['/messages/count_tokens', BY_FORMAT.anthropicTokenCount],
  ['/responses', BY_FORMAT.responses],
  ['/embeddings', BY_FORMAT.embeddings],
  ['/models', BY_FORMAT.models],
  [':generateContent', BY_FORMAT.generateContent],
  [':streamGenerateContent', BY_FORMAT.generateContent],
  [':countTokens', BY_FORMAT.geminiCountTokens],
]

export function endpointOf(head: RequestHead, format: LlmFormat): Endpoint | null {
  const { path } = head
  const known = BY_PATH.find(([suffix]) => path.endsWith(suffix))?.[1]
  const endpoint = known ?? BY_FORMAT[format] ?? null
  return endpoint === OPENAI_MODELS && styleOf(head) === 'anthropic' ? ANTHROPIC_MODELS : endpoint
}

/** Whose client this is, where the path does not tell. */
export function styleOf(head: RequestHead): ErrorStyle {
  return head.has('anthropic-version') ? 'anthropic' : 'openai'
}

function speaking(manner: Manner): Endpoint {
  return {
    method: 'POST',
    style: manner.style,
    answer(ask) {
      const asked = manner.read(ask)
      if (asked.kind === 'fault') return asked
      const { model } = asked
      const fault = drillFault(model)
      if (fault !== null) return fault
      const answer = answerTo(asked)
      if (asked.form === 'whole') return wholeSaid(manner.whole(answer), model)
      return { kind: 'said', form: 'stream', model, ...manner.stream(answer, ask) }
    },
  }
}
