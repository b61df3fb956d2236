// What a request will cost, guessed before anybody has counted: so that many at once cannot all pass the last token.

import type { PromptFacts } from './types.ts'

/** Bytes of a prompt that make a token, on the average. */
const BYTES_PER_TOKEN = 4

/** Above this most of a body is likely no text but an image, which costs far less than its bytes. */
const MOST_INPUT = 32_768

/** `max_tokens` is a bound few answers come near. */
const OUTPUT_SHARE = 8
const MOST_OUTPUT = 4_096

export function inputEstimate(bytes: number): number {
  return Math.min(Math.ceil(bytes / BYTES_PER_TOKEN), MOST_INPUT)
}

export function outputEstimate({ maxTokens }: Pick<PromptFacts, 'maxTokens'>): number {
  return Math.min(Math.ceil((maxTokens ?? 0) / OUTPUT_SHARE), MOST_OUTPUT)
}
