// /api/live: event streams with changes. One tick serves all streams, a text for several streams is formatted once, and a
// stream whose connection is full is skipped until it drains.

import type { ConfigRefusal } from '../../config/config-error.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import { createErrorResponse } from './page-request.ts'
import type { LimitsView, LiveEvents, McpView, Sample, LiveTopic } from './page-api-types.ts'
import type { UiResponse, UiRequest } from './page-request.ts'
import { isSameLimits } from './limits-view.ts'
import type { RecentLogLines } from './recent-log-lines.ts'
import { summarizeMcpView } from './mcp-view.ts'

/** Log lines are collected for this long. */
const LOG_INTERVAL_MS = 250
/** In one event; earlier lines are only counted. */
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

interface LiveStream {
  readonly out: EventWriter
  readonly topics: ReadonlySet<LiveTopic>
  /** The version sent last, of topics that are sent when they change. */
  readonly sent: Map<LiveTopic, number>
  nextLine: number
}

/** The latest value of a topic that is sent when it changes, and its text once it was sent. */
interface LatestValue {
  version: number
  value: unknown
  text: string | null
}

export class LiveStreams {
  readonly #source: LiveSource
  readonly #streams = new Set<LiveStream>()
  readonly #latest = new Map<LiveTopic, LatestValue>()
  #mcpSummary = ''
  #config: LiveConfig | null = null
  #logTimer: NodeJS.Timeout | null = null

  constructor(source: LiveSource) {
    this.#source = source
  }

  answer({ query }: UiRequest): UiResponse {
    const topics = (query.get('topics') ?? '').split(',').filter((topic) => topic !== '')
    const unknown = topics.find((topic) => !TOPICS.includes(topic))
    if (unknown !== undefined || topics.length === 0)
      return createErrorResponse(
        400,
        `got ${unknown === undefined ? 'no topics' : `topic '${unknown.slice(0, 64)}'`}, expected some of ${TOPICS.join(', ')}`,
      )
    return { kind: 'events', open: (out) => this.#open(out, new Set(topics as LiveTopic[])) }
  }

  hasStreams(topic: LiveTopic): boolean {
    for (const { topics } of this.#streams) if (topics.has(topic)) return true
    return false
  }

  /** Once a second, with the sample if one was taken. */
  tick(sample: Sample | null): void {
    if (this.#streams.size === 0) return
    let runtime: string | null = null
    this.#refresh()
    for (const stream of this.#streams) {
      const { out, topics } = stream
      if (sample !== null && topics.has('runtime') && !out.isFull)
        out.write((runtime ??= formatLiveEvent('runtime', sample)))
      this.#sendChanges(stream)
    }
  }

  /** Sends the new lines to the streams with the topic `logs`. */
  sendLogLines(): void {
    const texts = new Map<number, string>()
    const { lines } = this.#source
    for (const stream of this.#streams) {
      const { out, topics, nextLine } = stream
      if (!topics.has('logs') || out.isFull || nextLine > lines.count) continue
      let text = texts.get(nextLine)
      if (text === undefined) texts.set(nextLine, (text = this.#logsSince(nextLine)))
      out.write(text)
      stream.nextLine = lines.count + 1
    }
  }

  #open(out: EventWriter, topics: ReadonlySet<LiveTopic>): () => void {
    const { lines } = this.#source
    // The stream starts with the last lines, as some may have been logged after the page's first request.
    const nextLine = Math.max(1, lines.count - MAX_EVENT_LINES + 1)
    const stream: LiveStream = { out, topics, sent: new Map(), nextLine }
    this.#streams.add(stream)
    if (topics.has('logs'))
      this.#logTimer ??= setInterval(() => this.sendLogLines(), LOG_INTERVAL_MS).unref()
    if (topics.has('config')) {
      this.#refreshConfig()
      this.#sendIfNew(stream, 'config')
    }
    return () => {
      this.#streams.delete(stream)
      if (this.#logTimer === null || this.hasStreams('logs')) return
      clearInterval(this.#logTimer)
      this.#logTimer = null
    }
  }

  #refresh(): void {
    const { limits, mcp } = this.#source
    if (this.hasStreams('limits')) {
      const view = limits()
      const before = this.#latest.get('limits')?.value as LimitsView | undefined
      if (before === undefined || !isSameLimits(view, before)) this.#setLatest('limits', view)
    }
    if (this.hasStreams('mcp')) {
      const view = mcp()
      const summary = summarizeMcpView(view, performance.now())
      if (summary !== this.#mcpSummary || !this.#latest.has('mcp')) this.#setLatest('mcp', view)
      this.#mcpSummary = summary
    }
    if (this.hasStreams('config')) this.#refreshConfig()
  }

  #refreshConfig(): void {
    const { generation, refusal } = this.#source.config()
    const before = this.#config
    if (generation === before?.generation && refusal === before.refusal) return
    this.#config = { generation, refusal }
    const event: LiveEvents['config'] = { generation, isRefused: refusal !== null }
    this.#setLatest('config', event)
  }

  #setLatest(topic: LiveTopic, value: unknown): void {
    const version = (this.#latest.get(topic)?.version ?? 0) + 1
    this.#latest.set(topic, { version, value, text: null })
  }

  #sendChanges(stream: LiveStream): void {
    for (const topic of ['limits', 'mcp', 'config'] as const)
      if (stream.topics.has(topic)) this.#sendIfNew(stream, topic)
  }

  #sendIfNew({ out, sent }: LiveStream, topic: LiveTopic): void {
    const latest = this.#latest.get(topic)
    if (latest === undefined || out.isFull || sent.get(topic) === latest.version) return
    latest.text ??= formatLiveEvent(topic, latest.value)
    out.write(latest.text)
    sent.set(topic, latest.version)
  }

  #logsSince(number: number): string {
    const { lines } = this.#source
    const shown = lines.linesFrom(Math.max(number, lines.count - MAX_EVENT_LINES + 1))
    const dropped = lines.count - number + 1 - shown.length
    return formatLiveEvent('logs', { lines: shown, dropped })
  }
}

function formatLiveEvent(topic: LiveTopic, value: unknown): string {
  return `event: ${topic}\ndata: ${JSON.stringify(value)}\n\n`
}
