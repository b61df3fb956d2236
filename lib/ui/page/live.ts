// One event stream for the whole page, whatever its parts want to hear: browsers open only six connections to one server.

import type { LiveEvents, LiveTopic } from '../../admin/page-api/page-api-types.ts'

/** `lost`: it does not come just now, and is tried again. */
export type LinkState = 'opening' | 'open' | 'lost'

export interface Listener<T extends LiveTopic = LiveTopic> {
  readonly topic: T
  hear(event: LiveEvents[T]): void
  told(state: LinkState): void
}

/** What a browser calls EventSource, as far as it is used. */
export interface EventStream {
  readonly readyState: number
  addEventListener(name: string, hear: (event: { readonly data: string }) => void): void
  close(): void
}

/** What it returns calls it off. */
type Later = (act: () => void, ms: number) => () => void

/** After an answer that is no stream; a broken connection the browser makes again by itself. */
const RETRY_MS = 3_000
/** As `readyState` says it. */
const CLOSED = 2

export class Live {
  readonly #open: (path: string) => EventStream
  readonly #later: Later
  readonly #listeners = new Set<Listener>()
  #state: LinkState = 'opening'
  #source: EventStream | null = null
  /** What the source was opened with. */
  #topics = ''
  #callOff: (() => void) | null = null

  constructor(open: (path: string) => EventStream, later: Later) {
    this.#open = open
    this.#later = later
  }

  /** Until what it returns is called. */
  add<T extends LiveTopic>(listener: Listener<T>): () => void {
    const one = listener as Listener
    this.#listeners.add(one)
    one.told(this.#state)
    this.#soon(0)
    return () => {
      this.#listeners.delete(one)
      this.#soon(0)
    }
  }

  /** Not at once: a page that goes and one that comes are one change. */
  #soon(ms: number): void {
    this.#callOff?.()
    this.#callOff = this.#later(() => {
      this.#callOff = null
      this.#connect()
    }, ms)
  }

  #connect(): void {
    const wanted = [...new Set([...this.#listeners].map(({ topic }) => topic))].sort()
    const topics = wanted.join()
    if (topics === this.#topics && this.#source?.readyState !== CLOSED) return
    this.#source?.close()
    this.#source = null
    this.#topics = topics
    if (topics === '') return
    const source = this.#open(`/api/live?topics=${topics}`)
    this.#source = source
    source.addEventListener('open', () => this.#tell('open'))
    source.addEventListener('error', () => {
      this.#tell('lost')
      if (source.readyState === CLOSED) this.#soon(RETRY_MS)
    })
    for (const topic of wanted)
      source.addEventListener(topic, ({ data }) => {
        const event = JSON.parse(data) as LiveEvents[LiveTopic]
        for (const one of this.#listeners)
          if (one.topic === topic) (one.hear as (event: unknown) => void)(event)
      })
  }

  #tell(state: LinkState): void {
    this.#state = state
    for (const one of this.#listeners) one.told(state)
  }
}
