// What a request will cost, guessed before anybody has counted: so that many at once cannot all pass the last token.

import type { Prompt } from './prompt/prompt.ts'
import type { PromptFacts } from './types.ts'
import { guessOf } from './watch/guess.ts'

/** Above this most of a body is likely no text but an image, which costs far less than its bytes. */
const MOST_INPUT = 32_768

/** `max_tokens` is a bound few answers come near. */
const OUTPUT_SHARE = 8
const MOST_OUTPUT = 4_096

export function inputEstimate(bytes: number): number {
  return Math.min(guessOf(bytes), MOST_INPUT)
}

/** The same when all is over and nobody has counted: of what has come, and without a bound where it can be read. */
export function inputGuess({ isOpaque, received }: Pick<Prompt, 'isOpaque' | 'received'>): number {
  return isOpaque ? inputEstimate(received) : guessOf(received)
}

export function outputEstimate({ maxTokens }: Pick<PromptFacts, 'maxTokens'>): number {
  return Math.min(Math.ceil((maxTokens ?? 0) / OUTPUT_SHARE), MOST_OUTPUT)
}
