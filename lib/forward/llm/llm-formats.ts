// Which dialect a path speaks, and what each dialect's path is called below a provider's base.

import type { LlmFormat } from '../../config/backend-types.ts'
import type { Body, ErrorFormat } from '../../core/types.ts'

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
const COUNTING_FORMATS: ReadonlySet<LlmFormat> = new Set([
  'anthropicTokenCount',
  'geminiCountTokens',
])

type FormatRow = readonly [suffix: string, format: LlmFormat]

/** `*` is for what no other row fits. */
export class FormatTable {
  readonly #rows: readonly FormatRow[]
  readonly #other: LlmFormat

  /** Rows of the user's come before our own. */
  constructor(written: Readonly<Record<string, LlmFormat>> = {}) {
    const { '*': other = 'detect', ...own } = written
    this.#rows = [...sortFormatRows(own), ...sortFormatRows(SUFFIXES)]
    this.#other = other
  }

  formatOf(path: string): LlmFormat {
    const rows = isUnambiguousPath(path) ? this.#rows : this.#costlyRows
    for (const read of listPathReadings(path))
      for (const [suffix, format] of rows) if (read.endsWith(suffix)) return format
    return this.#other
  }

  /** `path`: one of the configuration's own, which replaces the client's; that must not make anything free. */
  formatSentTo(path: string | null, asked: LlmFormat): LlmFormat {
    if (path === null) return asked
    const own = this.formatOf(path)
    const isVague = own === 'detect' && asked !== 'models' && !COUNTING_FORMATS.has(asked)
    return isVague ? asked : own
  }

  /** A path that can be read in several ways is not to make anything free. */
  get #costlyRows(): readonly FormatRow[] {
    return this.#rows.filter(([, format]) => format !== 'models' && !COUNTING_FORMATS.has(format))
  }
}

/** The longest come first. Capital letters make no difference. */
function sortFormatRows(written: Readonly<Record<string, LlmFormat>>): FormatRow[] {
  const rows = Object.entries(written).toSorted(([a], [b]) => b.length - a.length)
  return rows.map(([suffix, format]) => [suffix.toLowerCase(), format])
}

/** Below `/v1`; null where the client's own path says more. */
const PATH_TAILS: Readonly<Record<LlmFormat, string | null>> = {
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
const VERSION_PREFIX = /^\/v\d+(?:beta)?(?=\/)/

/** What stands behind a provider's base path: `/chat/completions` of `/v1/chat/completions`. */
export function pathTailOf(format: LlmFormat, path: string): string {
  // Both are `completions`, and the older one has a path of its own.
  if (format === 'completions') {
    const [read = ''] = listPathReadings(path)
    if (read.endsWith('/completions') && !read.endsWith('/chat/completions')) return '/completions'
  }
  return PATH_TAILS[format] ?? path.replace(VERSION_PREFIX, '')
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
export function dialectOf(format: LlmFormat): ErrorFormat {
  return format === 'messages' || format === 'anthropicTokenCount' ? 'anthropic' : 'openai'
}

/** Dialects whose streams count only when they are asked to. */
export function needsUsageOption(format: LlmFormat): boolean {
  return format === 'completions'
}

/** Its requests are JSON, whatever they say of themselves. */
export function isJsonFormat(format: LlmFormat): boolean {
  return !['detect', 'passthrough', 'realtime', 'models'].includes(format)
}

/** Their requests only read. */
const READ_ONLY_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/** A request that brings nothing cannot ask a model anything. */
export function isReadOnlyRequest(method: string, { framing }: Pick<Body, 'framing'>): boolean {
  return framing === 'none' && READ_ONLY_METHODS.has(method)
}

/** Costs no tokens. */
export function isFreeOfCharge(
  format: LlmFormat,
  method: string,
  body: Pick<Body, 'framing'>,
): boolean {
  return COUNTING_FORMATS.has(format) || isReadOnlyRequest(method, body)
}

// Paths in other spellings, which lead to the same place at most servers: encoded, in capitals, with dots, with parameters.

const ENCODED = /%([0-9a-f]{2})/gi

/** Nothing in it is to be decoded, resolved, cut off or made small. */
const UNAMBIGUOUS_PATH = /^(?:\/(?!\.)[a-z\d_:.-]+)+(?<!\.)$/

/** What servers do not take for a part of a path's last name. */
const IGNORED_PATH_END = /[/.\s\0]+$/

/** Byte by byte: what is no UTF-8 is no reason not to read the rest. */
function decodePath(path: string): string {
  return path.replace(ENCODED, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
}

/**
 * All ways in which servers may read a path, in small letters, each at most once. Parameters are cut off each name by some
 * servers, and with all that follows by others.
 */
export function listPathReadings(path: string): readonly string[] {
  if (UNAMBIGUOUS_PATH.test(path)) return [path]
  const plain = decodePath(path).toLowerCase().replaceAll('\\', '/')
  if (!plain.includes(';')) return [resolvePath(plain)]
  const [first = ''] = plain.split(';', 1)
  return [resolvePath(first), resolvePath(plain.replace(/;[^/]*/g, ''))]
}

/** Whether all servers read it in the same way, but for what is encoded, capital letters and slashes at its end. */
export function isUnambiguousPath(path: string): boolean {
  if (UNAMBIGUOUS_PATH.test(path)) return true
  const plain = decodePath(path).replace(/\/+$/, '')
  return !/[;\\\s\0]/.test(plain) && resolvePath(plain) === plain
}

/** Without dots that stand for this place or the one above, and without empty names. */
function resolvePath(path: string): string {
  const names: string[] = []
  for (const name of path.split('/'))
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  return `/${names.join('/')}`.replace(IGNORED_PATH_END, '')
}

// What a head's content-type says a body is.

/** Of any family: `application/problem+json` too. */
const JSON_TYPE = /^(?:application\/json|[^/;\s]+\/[^/;\s]+\+json)$/

/** Without parameters, in lower case. */
export function essenceOf(type: string): string {
  return type.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJsonType(essence: string): boolean {
  return JSON_TYPE.test(essence)
}
