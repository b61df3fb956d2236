// A watcher of one request: its trace events as a reader of the stream sees them, and the end.

import type { Expression } from '../../lib/expressions/compile.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'
import type { TraceEvent } from '../../lib/core/trace-events.ts'
import type { TraceReader } from '../../lib/trace/trace-recorder.ts'
import type { TraceWatchers } from '../../lib/trace/trace-watchers.ts'
import { deadline } from './deadline.ts'

const WAIT_MS = 30_000

/** An event as parsed JSON. */
export interface TraceEventJson {
  readonly eventStart: number | null
  readonly eventEnd: number
  readonly severity: string
  readonly scope?: string[]
  readonly message: Record<string, unknown> & { type: string }
}

type Fields = Record<string, unknown>

export class TraceWatcher implements TraceReader {
  readonly events: TraceEventJson[] = []
  readonly #over: Promise<void>
  #end!: () => void

  constructor() {
    this.#over = new Promise((resolve) => (this.#end = resolve))
  }

  /** Watches the next request. */
  static at(
    { watchers }: { watchers: TraceWatchers },
    wanted: Expression | null = null,
  ): TraceWatcher {
    const watcher = new TraceWatcher()
    if (watchers.add(watcher, wanted) === null) throw new Error('too many watchers')
    return watcher
  }

  onEvent(event: TraceEvent): void {
    this.events.push(JSON.parse(formatTraceEvent(event)) as TraceEventJson)
  }

  onFinished(): void {
    this.#end()
  }

  async all(): Promise<TraceEventJson[]> {
    const seen = (): string => this.list().join(', ')
    await deadline(this.#over, WAIT_MS, 'the end of a trace').catch((error: Error) => {
      throw new Error(`${error.message} after ${seen()}`)
    })
    return this.events
  }

  /** All events in short form: the type, and the stage, phase or kind. */
  async eventNames(): Promise<string[]> {
    await this.all()
    return this.list()
  }

  list(): string[] {
    return this.events.map(({ scope, message }) => {
      const about = message['stage'] ?? message['phase'] ?? message['kind']
      const words = about === undefined ? message.type : `${message.type} ${about as string}`
      return scope === undefined ? words : `${scope.join(' > ')}: ${words}`
    })
  }

  /** The message of the first such event. */
  messageOf(words: string): Fields {
    const at = this.list().indexOf(words)
    if (at < 0) throw new Error(`no ${words} among ${this.list().join(', ')}`)
    return this.events[at]!.message
  }

  /** The request, the response or another part of the state in a snapshot. */
  state(words: string, part: string): Fields {
    return (this.messageOf(words)['requestState'] as Record<string, Fields>)[part]!
  }
}
