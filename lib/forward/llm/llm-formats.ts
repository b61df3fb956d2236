// The LLM formats: which format a path has, which path each format has at a provider, and what is known of its requests.

import type { LlmFormat } from '../../config/backend-types.ts'
import type { Body, ErrorFormat } from '../../core/types.ts'

/** Formats by the end of a path; the longest match wins. */
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

/** Their requests only count tokens. */
const COUNTING_FORMATS: ReadonlySet<LlmFormat> = new Set([
  'anthropicTokenCount',
  'geminiCountTokens',
])

type FormatRow = readonly [suffix: string, format: LlmFormat]

/** Finds the format of a path, by the suffixes of the configuration first; `*` is for all other paths. */
export class FormatTable {
  readonly #rows: readonly FormatRow[]
  readonly #fallback: LlmFormat

  constructor(configured: Readonly<Record<string, LlmFormat>> = {}) {
    const { '*': fallback = 'detect', ...suffixes } = configured
    this.#rows = [...sortFormatRows(suffixes), ...sortFormatRows(SUFFIXES)]
    this.#fallback = fallback
  }

  formatOf(path: string): LlmFormat {
    const rows = isUnambiguousPath(path) ? this.#rows : this.#costlyRows
    for (const reading of listPathReadings(path))
      for (const [suffix, format] of rows) if (reading.endsWith(suffix)) return format
    return this.#fallback
  }

  /** The format at a configured path that replaces the client's. It must not make a request that costs tokens free. */
  formatSentTo(pathOverride: string | null, requested: LlmFormat): LlmFormat {
    if (pathOverride === null) return requested
    const format = this.formatOf(pathOverride)
    const isUnknown =
      format === 'detect' && requested !== 'models' && !COUNTING_FORMATS.has(requested)
    return isUnknown ? requested : format
  }

  /** For ambiguous paths: a request must not become free because servers may read its path in another way. */
  get #costlyRows(): readonly FormatRow[] {
    return this.#rows.filter(([, format]) => format !== 'models' && !COUNTING_FORMATS.has(format))
  }
}

/** The longest first, in lower case. */
function sortFormatRows(formats: Readonly<Record<string, LlmFormat>>): FormatRow[] {
  const rows = Object.entries(formats).toSorted(([a], [b]) => b.length - a.length)
  return rows.map(([suffix, format]) => [suffix.toLowerCase(), format])
}

/** Paths below `/v1`; null where the path of the client is kept. */
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

const VERSION_PREFIX = /^\/v\d+(?:beta)?(?=\/)/

/** The path after the base path of a provider: `/chat/completions` for `/v1/chat/completions`. */
export function pathTailOf(format: LlmFormat, path: string): string {
  // `completions` is also the format of the older API, which has another path.
  if (format === 'completions') {
    const [reading = ''] = listPathReadings(path)
    if (reading.endsWith('/completions') && !reading.endsWith('/chat/completions'))
      return '/completions'
  }
  return PATH_TAILS[format] ?? path.replace(VERSION_PREFIX, '')
}

/** `gen_ai.operation.name` of OpenTelemetry, or our own name where it has none. */
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

/** The error format that clients of a format expect. */
export function dialectOf(format: LlmFormat): ErrorFormat {
  return format === 'messages' || format === 'anthropicTokenCount' ? 'anthropic' : 'openai'
}

/** Streams of these formats report usage only if `stream_options.include_usage` asks for it. */
export function needsUsageOption(format: LlmFormat): boolean {
  return format === 'completions'
}

/** Requests of these formats are JSON, whatever their content-type. */
export function isJsonFormat(format: LlmFormat): boolean {
  return !['detect', 'passthrough', 'realtime', 'models'].includes(format)
}

const READ_ONLY_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/** A request without a body cannot call a model. */
export function isReadOnlyRequest(method: string, { framing }: Pick<Body, 'framing'>): boolean {
  return framing === 'none' && READ_ONLY_METHODS.has(method)
}

/** What a request costs before its response reports usage: by its size, nothing until then, or nothing at all. */
export type ChargeBasis = 'size' | 'report' | 'free'

/** Ends of paths that call no language model: files, moderations, and other ways to count tokens. */
const FREE_PATH =
  /\/(?:files|uploads(?:\/[^/]+\/(?:parts|complete|cancel))?|moderations|(?:chat_)?tokenize|detokenize|tokenize-text|responses\/input_tokens|count-tokens)$/

/** Ends of paths whose requests are mostly a recording. */
const AUDIO_PATH = /\/audio\/(?:transcriptions|translations)$/

/** The size of such a request is that of a file, which says nothing about tokens. */
const UPLOAD_TYPE = /^(?:multipart\/form-data|(?:audio|image|video)\/.+)$/

/** `path` is that of the request to the provider. */
export function chargeBasisOf(format: LlmFormat, path: string, contentType: string): ChargeBasis {
  if (COUNTING_FORMATS.has(format)) return 'free'
  if (format !== 'detect' && format !== 'passthrough') return 'size'
  // A request must not become free because servers may read its path in another way.
  const [reading = ''] = isUnambiguousPath(path) ? listPathReadings(path) : []
  if (FREE_PATH.test(reading)) return 'free'
  return AUDIO_PATH.test(reading) || UPLOAD_TYPE.test(essenceOf(contentType)) ? 'report' : 'size'
}

// Most servers accept a path in several spellings: percent-encoded, in upper case, with dot segments or with `;` parameters.

const ENCODED_BYTE = /%([0-9a-f]{2})/gi

/** A path in its only spelling: nothing to decode, resolve, cut off or put in lower case. */
const UNAMBIGUOUS_PATH = /^(?:\/(?!\.)[a-z\d_:.-]+)+(?<!\.)$/

/** Characters at the end of a path that some servers ignore. */
const IGNORED_PATH_END = /[/.\s\0]+$/

/** Byte by byte, so that invalid UTF-8 does not stop the decoding of the rest. */
function decodePath(path: string): string {
  return path.replace(ENCODED_BYTE, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  )
}

/**
 * All ways in which servers may read a path, in lower case and without duplicates. Some servers cut `;` parameters off each
 * segment, others cut off the rest of the path with them.
 */
export function listPathReadings(path: string): readonly string[] {
  if (UNAMBIGUOUS_PATH.test(path)) return [path]
  const plain = decodePath(path).toLowerCase().replaceAll('\\', '/')
  if (!plain.includes(';')) return [resolvePath(plain)]
  const [first = ''] = plain.split(';', 1)
  return [resolvePath(first), resolvePath(plain.replace(/;[^/]*/g, ''))]
}

/** Whether all servers read a path in the same way, apart from encoding, upper case and slashes at its end. */
export function isUnambiguousPath(path: string): boolean {
  if (UNAMBIGUOUS_PATH.test(path)) return true
  const plain = decodePath(path).replace(/\/+$/, '')
  return !/[;\\\s\0]/.test(plain) && resolvePath(plain) === plain
}

/** Removes dot segments and empty segments. */
function resolvePath(path: string): string {
  const names: string[] = []
  for (const name of path.split('/'))
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  return `/${names.join('/')}`.replace(IGNORED_PATH_END, '')
}

/** Includes `+json` types such as `application/problem+json`. */
const JSON_TYPE = /^(?:application\/json|[^/;\s]+\/[^/;\s]+\+json)$/

/** The media type without parameters, in lower case. */
export function essenceOf(type: string): string {
  return type.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJsonType(essence: string): boolean {
  return JSON_TYPE.test(essence)
}
