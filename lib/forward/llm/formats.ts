// Which dialect a path speaks, and what each dialect's path is called below a provider's base.

import type { LlmFormat } from '../../base/config/llm-types.ts'
import type { Body, Dialect } from '../../base/types.ts'
import { isPlain, readings } from './spelling.ts'

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

/** They ask how many tokens there would be. */
const COUNTING: ReadonlySet<LlmFormat> = new Set(['anthropicTokenCount', 'geminiCountTokens'])

type Row = readonly [suffix: string, format: LlmFormat]

/** `*` is for what no other row fits. */
export class FormatTable {
  readonly #rows: readonly Row[]
  readonly #other: LlmFormat

  /** Rows of the user's come before our own. */
  constructor(written: Readonly<Record<string, LlmFormat>> = {}) {
    const { '*': other = 'detect', ...own } = written
    this.#rows = [...rowsOf(own), ...rowsOf(SUFFIXES)]
    this.#other = other
  }

  of(path: string): LlmFormat {
    const rows = isPlain(path) ? this.#rows : this.#costly
    for (const read of readings(path))
      for (const [suffix, format] of rows) if (read.endsWith(suffix)) return format
    return this.#other
  }

  /** `path`: one of the configuration's own, which replaces the client's; that must not make anything free. */
  sent(path: string | null, asked: LlmFormat): LlmFormat {
    if (path === null) return asked
    const own = this.of(path)
    const isVague = own === 'detect' && asked !== 'models' && !COUNTING.has(asked)
    return isVague ? asked : own
  }

  /** A path that can be read in several ways is not to make anything free. */
  get #costly(): readonly Row[] {
    return this.#rows.filter(([, format]) => format !== 'models' && !COUNTING.has(format))
  }
}

/** The longest come first. Capital letters make no difference. */
function rowsOf(written: Readonly<Record<string, LlmFormat>>): Row[] {
  const rows = Object.entries(written).toSorted(([a], [b]) => b.length - a.length)
  return rows.map(([suffix, format]) => [suffix.toLowerCase(), format])
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
  if (format === 'completions') {
    const [read = ''] = readings(path)
    if (read.endsWith('/completions') && !read.endsWith('/chat/completions')) return '/completions'
  }
  return TAILS[format] ?? path.replace(VERSION, '')
}

/** What OpenTelemetry calls it (`gen_ai.operation.name`); of what it has no name for, the dialect's. */
const OPERATIONS: Readonly<Record<LlmFormat, string | undefined>> = {
  completions: 'chat',
  messages: 'chat',
  responses: 'chat',
  generateContent: 'generate_content',
  embeddings: 'embeddings',
  rerank: 'rerank',
  realtime: 'realtime',
  models: 'models',
  anthropicTokenCount: 'count_tokens',
  geminiCountTokens: 'count_tokens',
  passthrough: undefined,
  detect: undefined,
}

export function operationOf(format: LlmFormat): string | undefined {
  return OPERATIONS[format]
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

/** Their requests only read. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/** A request that brings nothing cannot ask a model anything. */
export function isReading(method: string, { framing }: Pick<Body, 'framing'>): boolean {
  return framing === 'none' && READING.has(method)
}

/** Costs no tokens. */
export function isFree(format: LlmFormat, method: string, body: Pick<Body, 'framing'>): boolean {
  return COUNTING.has(format) || isReading(method, body)
}
