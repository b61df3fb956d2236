// The type of a stored response and of the usage expected in it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LlmFacts } from '../../../lib/core/facts.ts'
import type { TokenCost } from '../../../lib/core/types.ts'
import type { LlmFormat, RawUsage } from '../../../lib/forward/llm/llm-call-types.ts'
import { ROOT } from '../root.ts'

export interface Fixture {
  readonly file: string
  readonly format: LlmFormat
  readonly usage: RawUsage | null
  /** With a prompt estimated at 7 tokens. */
  readonly cost: TokenCost
  readonly facts: Partial<LlmFacts>
}

export const PROMPT_GUESS = 7

export function bytesOf(file: string): Buffer {
  return readFileSync(join(ROOT, 'spec/support/llm', file))
}

export function typeOf(file: string): string {
  if (file.endsWith('.ndjson')) return 'application/x-ndjson'
  return file.endsWith('.sse') ? 'text/event-stream' : 'application/json'
}

export function counted(input: number, output: number): TokenCost {
  return { input, output, basis: 'counted' }
}

/** The facts as `llmFactsOf` names them. */
export function tokens(input: number, output: number, providerInput = input): Partial<LlmFacts> {
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    providerInputTokens: providerInput,
    providerTotalTokens: providerInput + output,
  }
}
