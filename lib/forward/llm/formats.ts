// Which dialect a path speaks, and what each dialect's path is called below a provider's base.

import type { LlmFormat } from '../../base/config/llm-types.ts'
import type { Dialect } from '../../base/types.ts'

/** By the end of a path; the longest that fits counts. */
const SUFFIXES: Readonly<Record<string, LlmFormat>> = {
  '/chat/completions': 'completions',
  '/completions': 'completions',
  '/messages': 'messages',
  '/messages/count_tokens': 'anthropicTokenCount',
  '/responses': 'responses',
  '/embeddings': 'embeddings',
  '/rerank': 'rerank',
  '/models': 'models',
  '/realtime': 'realtime',
  ':generateContent': 'generateContent',
  ':streamGenerateContent': 'generateContent',
  ':countTokens': 'geminiCountTokens',
}

/** `*` is for what no other row fits. */
export class FormatTable {
  readonly #rows: readonly (readonly [suffix: string, format: LlmFormat])[]
  readonly #other: LlmFormat

  /** Rows of the user's come before our own. */
  constructor(written: Readonly<Record<string, LlmFormat>> = {}) {
    const { '*': other = 'detect', ...own } = written
    const longestFirst = ([a]: [string, unknown], [b]: [string, unknown]): number =>
      b.length - a.length
    this.#rows = [
      ...Object.entries(own).toSorted(longestFirst),
      ...Object.entries(SUFFIXES).toSorted(longestFirst),
    ]
    this.#other = other
  }

  of(path: string): LlmFormat {
    const read = asRead(path)
    for (const [suffix, format] of this.#rows) if (read.endsWith(suffix)) return format
    return this.#other
  }
}

/** Other spellings of a path lead to the same place at most providers. */
function asRead(path: string): string {
  if (!path.includes('%') && !path.endsWith('/')) return path
  return decoded(path).replace(/\/+$/, '')
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Below `/v1`; null where the client's own path says more. */
const TAILS: Readonly<Record<LlmFormat, string | null>> = {
  completions: '/chat/completions',
  messages: '/messages',
  anthropicTokenCount: '/messages/count_tokens',
  responses: '/responses',
  embeddings: '/embeddings',
  rerank: '/rerank',
  models: '/models',
  realtime: '/realtime',
  generateContent: null,
  geminiCountTokens: null,
  passthrough: null,
  detect: null,
}

/** The version every client puts in front. */
const VERSION = /^\/v\d+(?:beta)?(?=\/)/

/** What stands behind a provider's base path: `/chat/completions` of `/v1/chat/completions`. */
export function tailOf(format: LlmFormat, path: string): string {
  // Both are `completions`, and the older one has a path of its own.
  const isLegacy =
    format === 'completions' && path.endsWith('/completions') && !path.endsWith('/chat/completions')
  return (isLegacy ? null : TAILS[format]) ?? path.replace(VERSION, '')
}

/** How its clients want to hear of errors. */
export function dialectOf(format: LlmFormat): Dialect {
  return format === 'messages' || format === 'anthropicTokenCount' ? 'anthropic' : 'openai'
}

/** Dialects whose streams count only when they are asked to. */
export function isAskedForUsage(format: LlmFormat): boolean {
  return format === 'completions'
}

/** Its requests are JSON, whatever they say of themselves. */
export function isJsonFormat(format: LlmFormat): boolean {
  return !['detect', 'passthrough', 'realtime', 'models'].includes(format)
}

/** Costs no tokens: it reads, or asks how many there would be. */
export function isFree(format: LlmFormat, method: string): boolean {
  return method !== 'POST' || format === 'anthropicTokenCount' || format === 'geminiCountTokens'
}
