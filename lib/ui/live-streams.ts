// /api/live: what changes, to everybody who listens. One tick serves all readers, what they have in common is written once,
// and a reader that takes no more is passed over until it does.

import type { Refusal } from '../base/config/error.ts'
import type { EventOut } from '../base/sse/event-out.ts'
import { problem } from './answers.ts'
import type { LimitsView, LiveEvents, McpView, Sample, Topic } from './api.ts'
import type { Answer, Ask } from './ask.ts'
import { isSameLimits } from './limits.ts'
import type { Lines } from './lines.ts'
import { mcpGist } from './mcp.ts'

/** Lines gather for so long. */
const LOG_BEAT_MS = 250
/** In one event; what was logged before them is counted. */
export const MAX_EVENT_LINES = 200

const TOPICS: readonly string[] = [
  'runtime',
  'logs',
  'limits',
  'mcp',
  'config',
] satisfies readonly Topic[]

export interface LiveSource {
  readonly lines: Lines
  readonly limits: () => LimitsView
  readonly mcp: () => McpView
  readonly config: () => LiveConfig
}

interface LiveConfig {
  readonly generation: number
  readonly refusal: Refusal | null
}

interface Reader {
  readonly out: EventOut
  readonly topics: ReadonlySet<Topic>
  /** What it was sent last, of topics that are told when they change. */
  readonly sent: Map<Topic, number>
  nextLine: number
}

/** What is told when it changes: the latest, and its text once somebody is sent it. */
interface Latest {
  version: number
  value: unknown
  text: string | null
}

export class LiveStreams {
  readonly #source: LiveSource
  readonly #readers = new Set<Reader>()
  readonly #latest = new Map<Topic, Latest>()
  #mcpGist = ''
  #config: LiveConfig | null = null
  #beat: NodeJS.Timeout | null = null

  constructor(source: LiveSource) {
    this.#source = source
  }

  answer({ query }: Ask): Answer {
    const topics = (query.get('topics') ?? '').split(',').filter((topic) => topic !== '')
    const strange = topics.find((topic) => !TOPICS.includes(topic))
    if (strange !== undefined || topics.length === 0)
      return problem(
        400,
        `got ${strange === undefined ? 'no topics' : `topic '${strange.slice(0, 64)}'`}, expected some of ${TOPICS.join(', ')}`,
      )
    return { kind: 'events', open: (out) => this.#open(out, new Set(topics as Topic[])) }
  }

  isWanted(topic: Topic): boolean {
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
        out.write((runtime ??= eventOf('runtime', sample)))
      this.#tellChanges(reader)
    }
  }

  /** The lines that came, to those who read them. */
  beat(): void {
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

  #open(out: EventOut, topics: ReadonlySet<Topic>): () => void {
    const { lines } = this.#source
    // Those just before it came: between a first look and this one some may have been logged.
    const nextLine = Math.max(1, lines.count - MAX_EVENT_LINES + 1)
    const reader: Reader = { out, topics, sent: new Map(), nextLine }
    this.#readers.add(reader)
    if (topics.has('logs')) this.#beat ??= setInterval(() => this.beat(), LOG_BEAT_MS).unref()
    if (topics.has('config')) {
      this.#refreshConfig()
      this.#tellIfNew(reader, 'config')
    }
    return () => {
      this.#readers.delete(reader)
      if (this.#beat === null || this.isWanted('logs')) return
      clearInterval(this.#beat)
      this.#beat = null
    }
  }

  #refresh(): void {
    const { limits, mcp } = this.#source
    if (this.isWanted('limits')) {
      const view = limits()
      const before = this.#latest.get('limits')?.value as LimitsView | undefined
      if (before === undefined || !isSameLimits(view, before)) this.#changed('limits', view)
    }
    if (this.isWanted('mcp')) {
      const view = mcp()
      const gist = mcpGist(view, performance.now())
      if (gist !== this.#mcpGist || !this.#latest.has('mcp')) this.#changed('mcp', view)
      this.#mcpGist = gist
    }
    if (this.isWanted('config')) this.#refreshConfig()
  }

  #refreshConfig(): void {
    const { generation, refusal } = this.#source.config()
    const before = this.#config
    if (generation === before?.generation && refusal === before.refusal) return
    this.#config = { generation, refusal }
    const told: LiveEvents['config'] = { generation, isRefused: refusal !== null }
    this.#changed('config', told)
  }

  #changed(topic: Topic, value: unknown): void {
    const version = (this.#latest.get(topic)?.version ?? 0) + 1
    this.#latest.set(topic, { version, value, text: null })
  }

  #tellChanges(reader: Reader): void {
    for (const topic of ['limits', 'mcp', 'config'] as const)
      if (reader.topics.has(topic)) this.#tellIfNew(reader, topic)
  }

  #tellIfNew({ out, sent }: Reader, topic: Topic): void {
    const latest = this.#latest.get(topic)
    if (latest === undefined || out.isFull || sent.get(topic) === latest.version) return
    latest.text ??= eventOf(topic, latest.value)
    out.write(latest.text)
    sent.set(topic, latest.version)
  }

  #logsSince(number: number): string {
    const { lines } = this.#source
    const shown = lines.from(Math.max(number, lines.count - MAX_EVENT_LINES + 1))
    const dropped = lines.count - number + 1 - shown.length
    return eventOf('logs', { lines: shown, dropped })
  }
}

function eventOf(topic: Topic, value: unknown): string {
  return `event: ${topic}\ndata: ${JSON.stringify(value)}\n\n`
}
