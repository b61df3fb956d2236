// /api/live: what changes, to everybody who listens. One tick serves all readers, what they have in common is written once,
// and a reader that takes no more is passed over until it does.

import type { ConfigRefusal } from '../../config/config-error.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { createErrorResponse } from './page-request.ts'
import type { LimitsView, LiveEvents, McpView, Sample, LiveTopic } from './page-api-types.ts'
import type { UiResponse, UiRequest } from './page-request.ts'
import { isSameLimits } from './limits-view.ts'
import type { RecentLogLines } from './recent-log-lines.ts'
import { summarizeMcpView } from './mcp-view.ts'

/** Lines gather for so long. */
const LOG_INTERVAL_MS = 250
/** In one event; what was logged before them is counted. */
export const MAX_EVENT_LINES = 200

const TOPICS: readonly string[] = [
  'runtime',
  'logs',
  'limits',
  'mcp',
  'config',
] satisfies readonly LiveTopic[]

export interface LiveSource {
  readonly lines: RecentLogLines
  readonly limits: () => LimitsView
  readonly mcp: () => McpView
  readonly config: () => LiveConfig
}

interface LiveConfig {
  readonly generation: number
  readonly refusal: ConfigRefusal | null
}

interface LiveReader {
  readonly out: EventWriter
  readonly topics: ReadonlySet<LiveTopic>
  /** What it was sent last, of topics that are told when they change. */
  readonly sent: Map<LiveTopic, number>
  nextLine: number
}

/** What is told when it changes: the latest, and its text once somebody is sent it. */
interface LatestValue {
  version: number
  value: unknown
  text: string | null
}

export class LiveStreams {
  readonly #source: LiveSource
  readonly #readers = new Set<LiveReader>()
  readonly #latest = new Map<LiveTopic, LatestValue>()
  #mcpSummary = ''
  #config: LiveConfig | null = null
  #logTimer: NodeJS.Timeout | null = null

  constructor(source: LiveSource) {
    this.#source = source
  }

  answer({ query }: UiRequest): UiResponse {
    const topics = (query.get('topics') ?? '').split(',').filter((topic) => topic !== '')
    const strange = topics.find((topic) => !TOPICS.includes(topic))
    if (strange !== undefined || topics.length === 0)
      return createErrorResponse(
        400,
        `got ${strange === undefined ? 'no topics' : `topic '${strange.slice(0, 64)}'`}, expected some of ${TOPICS.join(', ')}`,
      )
    return { kind: 'events', open: (out) => this.#open(out, new Set(topics as LiveTopic[])) }
  }

  hasReaders(topic: LiveTopic): boolean {
    for (const { topics } of this.#readers) if (topics.has(topic)) return true
    return false
  }

  /** Once a second, with a sample where one was taken. */
  tick(sample: Sample | null): void {
    if (this.#readers.size === 0) return
    let runtime: string | null = null
    this.#refresh()
    for (const reader of this.#readers) {
      const { out, topics } = reader
      if (sample !== null && topics.has('runtime') && !out.isFull)
        out.write((runtime ??= formatLiveEvent('runtime', sample)))
      this.#tellChanges(reader)
    }
  }

  /** The lines that came, to those who read them. */
  sendLogLines(): void {
    const texts = new Map<number, string>()
    const { lines } = this.#source
    for (const reader of this.#readers) {
      const { out, topics, nextLine } = reader
      if (!topics.has('logs') || out.isFull || nextLine > lines.count) continue
      let text = texts.get(nextLine)
      if (text === undefined) texts.set(nextLine, (text = this.#logsSince(nextLine)))
      out.write(text)
      reader.nextLine = lines.count + 1
    }
  }

  #open(out: EventWriter, topics: ReadonlySet<LiveTopic>): () => void {
    const { lines } = this.#source
    // Those just before it came: between a first look and this one some may have been logged.
    const nextLine = Math.max(1, lines.count - MAX_EVENT_LINES + 1)
    const reader: LiveReader = { out, topics, sent: new Map(), nextLine }
    this.#readers.add(reader)
    if (topics.has('logs'))
      this.#logTimer ??= setInterval(() => this.sendLogLines(), LOG_INTERVAL_MS).unref()
    if (topics.has('config')) {
      this.#refreshConfig()
      this.#tellIfNew(reader, 'config')
    }
    return () => {
      this.#readers.delete(reader)
      if (this.#logTimer === null || this.hasReaders('logs')) return
      clearInterval(this.#logTimer)
      this.#logTimer = null
    }
  }

  #refresh(): void {
    const { limits, mcp } = this.#source
    if (this.hasReaders('limits')) {
      const view = limits()
      const before = this.#latest.get('limits')?.value as LimitsView | undefined
      if (before === undefined || !isSameLimits(view, before)) this.#changed('limits', view)
    }
    if (this.hasReaders('mcp')) {
      const view = mcp()
      const gist = summarizeMcpView(view, performance.now())
      if (gist !== this.#mcpSummary || !this.#latest.has('mcp')) this.#changed('mcp', view)
      this.#mcpSummary = gist
    }
    if (this.hasReaders('config')) this.#refreshConfig()
  }

  #refreshConfig(): void {
    const { generation, refusal } = this.#source.config()
    const before = this.#config
    if (generation === before?.generation && refusal === before.refusal) return
    this.#config = { generation, refusal }
    const told: LiveEvents['config'] = { generation, isRefused: refusal !== null }
    this.#changed('config', told)
  }

  #changed(topic: LiveTopic, value: unknown): void {
    const version = (this.#latest.get(topic)?.version ?? 0) + 1
    this.#latest.set(topic, { version, value, text: null })
  }

  #tellChanges(reader: LiveReader): void {
    for (const topic of ['limits', 'mcp', 'config'] as const)
      if (reader.topics.has(topic)) this.#tellIfNew(reader, topic)
  }

  #tellIfNew({ out, sent }: LiveReader, topic: LiveTopic): void {
    const latest = this.#latest.get(topic)
    if (latest === undefined || out.isFull || sent.get(topic) === latest.version) return
    latest.text ??= formatLiveEvent(topic, latest.value)
    out.write(latest.text)
    sent.set(topic, latest.version)
  }

  #logsSince(number: number): string {
    const { lines } = this.#source
    const shown = lines.from(Math.max(number, lines.count - MAX_EVENT_LINES + 1))
    const dropped = lines.count - number + 1 - shown.length
    return formatLiveEvent('logs', { lines: shown, dropped })
  }
}

function formatLiveEvent(topic: LiveTopic, value: unknown): string {
  return `event: ${topic}\ndata: ${JSON.stringify(value)}\n\n`
}
