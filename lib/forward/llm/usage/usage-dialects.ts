// For each LLM format: the members of a response that report usage, model and service tier, and the events that end a stream.

import type { LlmFormat } from '../../../config/backend-types.ts'
import type { InputCountMeaning } from '../llm-call-types.ts'
import { ROOT_USAGE_PATHS } from './raw-usage.ts'
import type { ParsedUsage } from './raw-usage.ts'

/** Names of members, from the root inwards. */
export type MemberPath = readonly string[]

interface DialectRow {
  /** All paths that exist in an object are read, in this order. */
  readonly usage: readonly MemberPath[]
  /** Whether the root of a response and its headers are read too, for providers without a usage object. */
  readonly rootUsage: 'read' | 'none'
  /** The one of `usage` that is reported at the start of a stream, so that its output count is not final. */
  readonly begun: MemberPath | null
  readonly model: readonly MemberPath[]
  readonly tier: readonly MemberPath[]
  /** The result of requests that only count tokens. */
  readonly count: MemberPath | null
  /** The end of a stream: the `type` of its last event, or all of its data. */
  readonly endings: ReadonlySet<string>
  /** `whole`: a stream may also end without any of `endings`. */
  readonly plainEnd: 'whole' | 'cut'
  /** Whether the input count includes cached tokens, unless the shape of a report says otherwise. */
  readonly counts: InputCountMeaning
  /** `text`: the tokens of a JSON response can be estimated from its bytes. */
  readonly content: 'text' | 'other'
  /** The same for a response that cannot be read. */
  readonly unread: 'text' | 'other'
  readonly isFree: boolean
}

/** Watched member names, each with the watched names below it. */
export type MemberTree = ReadonlyMap<string, MemberTree>

export interface ResponseDialect extends DialectRow {
  /** What the headers of a response report; null in the dialect itself. */
  readonly headerUsage: ParsedUsage | null
  /** All paths of the dialect as a tree, and the `type` of an event. */
  readonly memberTree: MemberTree
  /** Every event with information contains one of these: a member name with its closing quote, or an ending. */
  readonly markers: readonly string[]
  /** The same while the model is not known. */
  readonly firstMarkers: readonly string[]
}

const EMPTY_DIALECT: DialectRow = {
  usage: [],
  rootUsage: 'none',
  begun: null,
  model: [],
  tier: [],
  count: null,
  endings: new Set(),
  plainEnd: 'whole',
  counts: 'withCached',
  content: 'other',
  unread: 'other',
  isFree: false,
}

const TEXT_CONTENT = { content: 'text', unread: 'text' } as const

const COMPLETIONS_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  // Groq reports usage in its own member to clients that did not ask for it.
  usage: [['x_groq', 'usage'], ['usage']],
  model: [['model']],
  tier: [['service_tier']],
  endings: new Set(['[DONE]']),
  plainEnd: 'cut',
  ...TEXT_CONTENT,
}

const BEGUN_USAGE_PATH: MemberPath = ['message', 'usage']

const MESSAGES_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: [BEGUN_USAGE_PATH, ['usage'], ['amazon-bedrock-invocationMetrics']],
  begun: BEGUN_USAGE_PATH,
  model: [['message', 'model'], ['model']],
  tier: [
    ['message', 'usage', 'service_tier'],
    ['usage', 'service_tier'],
  ],
  endings: new Set(['message_stop']),
  plainEnd: 'cut',
  counts: 'withoutCached',
  ...TEXT_CONTENT,
}

const RESPONSES_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: [['response', 'usage'], ['usage']],
  model: [['response', 'model'], ['model']],
  tier: [['response', 'service_tier'], ['service_tier']],
  endings: new Set(['response.completed', 'response.failed', 'response.incomplete']),
  plainEnd: 'cut',
  ...TEXT_CONTENT,
}

const GENERATE_CONTENT_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: [['usageMetadata']],
  model: [['modelVersion']],
  ...TEXT_CONTENT,
}

const EMBEDDINGS_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: [['usage'], ['usageMetadata']],
  model: [['model']],
}

const RERANK_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: [['usage'], ['meta', 'billed_units'], ['meta', 'tokens']],
  model: [['model']],
}

/** Other usage objects: of Bedrock's Converse, Cohere's chats in both versions and MLflow's gateway. */
const OTHER_USAGE_PATHS: readonly MemberPath[] = [
  ['metadata', 'usage'],
  ['delta', 'usage'],
  ['meta'],
  ['response', 'meta'],
  ['metadata'],
]

/** The last events of Cohere's streams. */
const COHERE_ENDINGS: readonly string[] = ['message-end', 'stream-end']

/** All dialects together, and those that have no format of their own. */
const ANY_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: unionPaths(({ usage }) => usage, OTHER_USAGE_PATHS),
  rootUsage: 'read',
  begun: BEGUN_USAGE_PATH,
  model: unionPaths(({ model }) => model),
  tier: unionPaths(({ tier }) => tier),
  endings: new Set([
    ...[COMPLETIONS_DIALECT, MESSAGES_DIALECT, RESPONSES_DIALECT].flatMap(({ endings }) =>
      Array.from(endings),
    ),
    ...COHERE_ENDINGS,
  ]),
}

/** No usage is expected, but it is counted if a response reports some. */
const FREE_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: ANY_DIALECT.usage,
  begun: BEGUN_USAGE_PATH,
  isFree: true,
}

const DIALECTS: Readonly<Record<LlmFormat, ResponseDialect>> = {
  completions: completeDialect(COMPLETIONS_DIALECT),
  messages: completeDialect(MESSAGES_DIALECT),
  responses: completeDialect(RESPONSES_DIALECT),
  generateContent: completeDialect(GENERATE_CONTENT_DIALECT),
  embeddings: completeDialect(EMBEDDINGS_DIALECT),
  rerank: completeDialect(RERANK_DIALECT),
  // The request may have been a prompt, so a response that cannot be read counts as text for the limits.
  detect: completeDialect({ ...ANY_DIALECT, unread: 'text' }),
  passthrough: completeDialect(ANY_DIALECT),
  realtime: completeDialect(ANY_DIALECT),
  models: completeDialect(FREE_DIALECT),
  anthropicTokenCount: completeDialect({ ...FREE_DIALECT, count: ['input_tokens'] }),
  geminiCountTokens: completeDialect({ ...FREE_DIALECT, count: ['totalTokens'] }),
}

export function responseDialectOf(format: LlmFormat): ResponseDialect {
  return DIALECTS[format]
}

function unionPaths(
  pathsOf: (row: DialectRow) => readonly MemberPath[],
  extra: readonly MemberPath[] = [],
): readonly MemberPath[] {
  const paths = [
    COMPLETIONS_DIALECT,
    MESSAGES_DIALECT,
    RESPONSES_DIALECT,
    GENERATE_CONTENT_DIALECT,
    RERANK_DIALECT,
  ].flatMap(pathsOf)
  const byName = new Map([...paths, ...extra].map((path) => [path.join('.'), path]))
  return Array.from(byName.values())
}

function completeDialect(row: DialectRow): ResponseDialect {
  const { usage, rootUsage, model, tier, count, endings } = row
  const rootPaths = rootUsage === 'read' ? ROOT_USAGE_PATHS : []
  const paths = [...usage, ...rootPaths, ...model, ...tier, ...(count === null ? [] : [count])]
  const markers = [...[...usage, ...rootPaths].map(lastName), ...endings]
  return {
    ...row,
    headerUsage: null,
    memberTree: buildMemberTree([...paths, ['type']]),
    markers: [...new Set(markers)],
    firstMarkers: [...new Set([...markers, ...model.map(lastName)])],
  }
}

function buildMemberTree(paths: readonly MemberPath[]): MemberTree {
  const names = new Set(paths.flatMap(([name]) => name ?? []))
  const below = (name: string): MemberPath[] =>
    paths.filter(([first]) => first === name).map(([, ...rest]) => rest)
  return new Map([...names].map((name) => [name, buildMemberTree(below(name))]))
}

function lastName(path: MemberPath): string {
  return `${path.at(-1)}"`
}
