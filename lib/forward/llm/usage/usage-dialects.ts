// Where the answers of each dialect tell what they cost and which model gave them, and how their streams end.

import type { LlmFormat } from '../../../config/backend-types.ts'
import type { InputCountMeaning } from '../llm-call-types.ts'

/** Names of members, from the root inwards. */
export type MemberPath = readonly string[]

/** What is known of a dialect. */
interface DialectRow {
  /** All that are there are read, in this order. */
  readonly usage: readonly MemberPath[]
  /** One of `usage` that is told when the answer begins, so that its output is not the answer's. */
  readonly begun: MemberPath | null
  readonly model: readonly MemberPath[]
  readonly tier: readonly MemberPath[]
  /** Of a dialect that only counts. */
  readonly count: MemberPath | null
  /** What a stream ends with: the `type` of its last event, or all of its data. */
  readonly endings: ReadonlySet<string>
  /** `whole`: a stream may also end without any of these. */
  readonly plainEnd: 'whole' | 'cut'
  /** How its own input count is meant, unless the shape of a report tells otherwise. */
  readonly counts: InputCountMeaning
  /** `text`: an answer in one piece is words, whose bytes say roughly how many tokens they are. */
  readonly content: 'text' | 'other'
  /** What an answer is taken for that cannot be read. */
  readonly unread: 'text' | 'other'
  readonly isFree: boolean
}

/** Names of members, each with those in it that matter. */
export type MemberTree = ReadonlyMap<string, MemberTree>

export interface ResponseDialect extends DialectRow {
  /** From the root inwards: what leads to what is told, and the type of an event. */
  readonly memberTree: MemberTree
  /** An event that tells something has one of these in it: names, with the closing quote, and endings. */
  readonly markers: readonly string[]
  /** The same, while the model is not known. */
  readonly firstMarkers: readonly string[]
}

const EMPTY_DIALECT: DialectRow = {
  usage: [],
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
  // Groq's own place is for clients that did not ask.
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

/** Any of them, and Bedrock's Converse. What it ends with cannot be known. */
const ANY_DIALECT: DialectRow = {
  ...EMPTY_DIALECT,
  usage: unionPaths(({ usage }) => usage, [['metadata', 'usage']]),
  begun: BEGUN_USAGE_PATH,
  model: unionPaths(({ model }) => model),
  tier: unionPaths(({ tier }) => tier),
  endings: new Set(
    [COMPLETIONS_DIALECT, MESSAGES_DIALECT, RESPONSES_DIALECT].flatMap(({ endings }) =>
      Array.from(endings),
    ),
  ),
}

/** Where nothing is expected, usage counts all the same if there is any. */
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
  // It was a prompt, as far as anybody knows: what comes back does not get past the limits unseen.
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
  more: readonly MemberPath[] = [],
): readonly MemberPath[] {
  const all = [
    COMPLETIONS_DIALECT,
    MESSAGES_DIALECT,
    RESPONSES_DIALECT,
    GENERATE_CONTENT_DIALECT,
    RERANK_DIALECT,
  ].flatMap(pathsOf)
  const byName = new Map([...all, ...more].map((path) => [path.join('.'), path]))
  return Array.from(byName.values())
}

function completeDialect(row: DialectRow): ResponseDialect {
  const { usage, model, tier, count, endings } = row
  const paths = [...usage, ...model, ...tier, ...(count === null ? [] : [count])]
  const words = [...usage.map(lastName), ...endings]
  return {
    ...row,
    memberTree: buildMemberTree([...paths, ['type']]),
    markers: [...new Set(words)],
    firstMarkers: [...new Set([...words, ...model.map(lastName)])],
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
