// Where the answers of each dialect tell what they cost and which model gave them, and how their streams end.

import type { LlmFormat } from '../../../base/config/llm-types.ts'
import type { InputCount } from '../types.ts'

/** Names of members, from the root inwards. */
export type Path = readonly string[]

/** What is known of a dialect. */
interface Row {
  /** All that are there are read, in this order. */
  readonly usage: readonly Path[]
  /** One of `usage` that is told when the answer begins, so that its output is not the answer's. */
  readonly begun: Path | null
  readonly model: readonly Path[]
  readonly tier: readonly Path[]
  /** Of a dialect that only counts. */
  readonly count: Path | null
  /** What a stream ends with: the `type` of its last event, or all of its data. */
  readonly endings: ReadonlySet<string>
  /** `whole`: a stream may also end without any of these. */
  readonly plainEnd: 'whole' | 'cut'
  /** How its own input count is meant, unless the shape of a report tells otherwise. */
  readonly counts: InputCount
  /** `text`: an answer in one piece is words, whose bytes say roughly how many tokens they are. */
  readonly content: 'text' | 'other'
  /** What an answer is taken for that cannot be read. */
  readonly unread: 'text' | 'other'
  readonly isFree: boolean
}

/** Names of members, each with those in it that matter. */
export type Places = ReadonlyMap<string, Places>

export interface AnswerDialect extends Row {
  /** From the root inwards: what leads to what is told, and the type of an event. */
  readonly places: Places
  /** An event that tells something has one of these in it: names, with the closing quote, and endings. */
  readonly words: readonly string[]
  /** The same, while the model is not known. */
  readonly firstWords: readonly string[]
}

const NOTHING: Row = {
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

const WORDS = { content: 'text', unread: 'text' } as const

const COMPLETIONS: Row = {
  ...NOTHING,
  // Groq's own place is for clients that did not ask.
  usage: [['x_groq', 'usage'], ['usage']],
  model: [['model']],
  tier: [['service_tier']],
  endings: new Set(['[DONE]']),
  plainEnd: 'cut',
  ...WORDS,
}

const BEGUN: Path = ['message', 'usage']

const MESSAGES: Row = {
  ...NOTHING,
  usage: [BEGUN, ['usage'], ['amazon-bedrock-invocationMetrics']],
  begun: BEGUN,
  model: [['message', 'model'], ['model']],
  tier: [
    ['message', 'usage', 'service_tier'],
    ['usage', 'service_tier'],
  ],
  endings: new Set(['message_stop']),
  plainEnd: 'cut',
  counts: 'withoutCached',
  ...WORDS,
}

const RESPONSES: Row = {
  ...NOTHING,
  usage: [['response', 'usage'], ['usage']],
  model: [['response', 'model'], ['model']],
  tier: [['response', 'service_tier'], ['service_tier']],
  endings: new Set(['response.completed', 'response.failed', 'response.incomplete']),
  plainEnd: 'cut',
  ...WORDS,
}

const GENERATE_CONTENT: Row = {
  ...NOTHING,
  usage: [['usageMetadata']],
  model: [['modelVersion']],
  ...WORDS,
}

const EMBEDDINGS: Row = {
  ...NOTHING,
  usage: [['usage'], ['usageMetadata']],
  model: [['model']],
}

const RERANK: Row = {
  ...NOTHING,
  usage: [['usage'], ['meta', 'billed_units'], ['meta', 'tokens']],
  model: [['model']],
}

/** Any of them, and Bedrock's Converse. What it ends with cannot be known. */
const ANY: Row = {
  ...NOTHING,
  usage: unionOf(({ usage }) => usage, [['metadata', 'usage']]),
  begun: BEGUN,
  model: unionOf(({ model }) => model),
  tier: unionOf(({ tier }) => tier),
  endings: new Set(
    [COMPLETIONS, MESSAGES, RESPONSES].flatMap(({ endings }) => Array.from(endings)),
  ),
}

/** Where nothing is expected, usage counts all the same if there is any. */
const FREE: Row = { ...NOTHING, usage: ANY.usage, begun: BEGUN, isFree: true }

const DIALECTS: Readonly<Record<LlmFormat, AnswerDialect>> = {
  completions: withNames(COMPLETIONS),
  messages: withNames(MESSAGES),
  responses: withNames(RESPONSES),
  generateContent: withNames(GENERATE_CONTENT),
  embeddings: withNames(EMBEDDINGS),
  rerank: withNames(RERANK),
  // It was a prompt, as far as anybody knows: what comes back does not get past the limits unseen.
  detect: withNames({ ...ANY, unread: 'text' }),
  passthrough: withNames(ANY),
  realtime: withNames(ANY),
  models: withNames(FREE),
  anthropicTokenCount: withNames({ ...FREE, count: ['input_tokens'] }),
  geminiCountTokens: withNames({ ...FREE, count: ['totalTokens'] }),
}

export function answerDialectOf(format: LlmFormat): AnswerDialect {
  return DIALECTS[format]
}

function unionOf(
  pathsOf: (row: Row) => readonly Path[],
  more: readonly Path[] = [],
): readonly Path[] {
  const all = [COMPLETIONS, MESSAGES, RESPONSES, GENERATE_CONTENT, RERANK].flatMap(pathsOf)
  const byName = new Map([...all, ...more].map((path) => [path.join('.'), path]))
  return Array.from(byName.values())
}

function withNames(row: Row): AnswerDialect {
  const { usage, model, tier, count, endings } = row
  const paths = [...usage, ...model, ...tier, ...(count === null ? [] : [count])]
  const words = [...usage.map(lastName), ...endings]
  return {
    ...row,
    places: placesOf([...paths, ['type']]),
    words: [...new Set(words)],
    firstWords: [...new Set([...words, ...model.map(lastName)])],
  }
}

function placesOf(paths: readonly Path[]): Places {
  const names = new Set(paths.flatMap(([name]) => name ?? []))
  const below = (name: string): Path[] =>
    paths.filter(([first]) => first === name).map(([, ...rest]) => rest)
  return new Map([...names].map((name) => [name, placesOf(below(name))]))
}

function lastName(path: Path): string {
  return `${path.at(-1)}"`
}
