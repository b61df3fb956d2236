// How the page reads its server: requests, one live event stream for all parts, and hooks for both.

import type { LiveEvents, LiveTopic } from '../admin/page-api/page-api-types.ts'
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from './page-view.ts'

/** State of the process and its listeners, without the samples of the last minutes. */
export const RUNTIME = '/api/runtime?samples=0'

/** A response that is not 2xx, with the reason that it gives. */
export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { ...(signal && { signal }) })).json() as Promise<T>
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const response = await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
  return response.json() as Promise<T>
}

/** Without the user name and password of the page's address: browsers refuse to fetch such URLs. */
export function ownUrl(path: string): string {
  return location.origin + path
}

/** Throws a RequestError for everything that is not 2xx. */
export async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(ownUrl(path), { ...init, cache: 'no-store' })
  if (!response.ok) throw new RequestError(response.status, await reasonOf(response))
  return response
}

async function reasonOf(response: Response): Promise<string> {
  const text = (await response.text()).trim()
  try {
    const { error } = JSON.parse(text) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // Policies answer with plain text.
  }
  return text || `${response.status} ${response.statusText}`
}

/** `lost`: the stream is interrupted and will be opened again. */
export type LinkState = 'opening' | 'open' | 'lost'

export interface Listener<T extends LiveTopic = LiveTopic> {
  readonly topic: T
  receive(event: LiveEvents[T]): void
  stateChanged(state: LinkState): void
}

/** The members of EventSource that are used here. */
export interface EventStream {
  readonly readyState: number
  addEventListener(name: string, receive: (event: { readonly data: string }) => void): void
  close(): void
}

/** Returns a function that cancels it. */
type Schedule = (act: () => void, ms: number) => () => void

/** After a response that is not a stream; after a network error the browser reconnects by itself. */
const RETRY_MS = 3_000
/** Of `readyState`. */
const CLOSED = 2

export class Live {
  readonly #open: (path: string) => EventStream
  readonly #schedule: Schedule
  readonly #listeners = new Set<Listener>()
  #state: LinkState = 'opening'
  #source: EventStream | null = null
  /** The topics that the open stream delivers. */
  #topics = ''
  #cancel: (() => void) | null = null

  constructor(open: (path: string) => EventStream, schedule: Schedule) {
    this.#open = open
    this.#schedule = schedule
  }

  /** Returns a function that removes it. */
  add<T extends LiveTopic>(listener: Listener<T>): () => void {
    const one = listener as Listener
    this.#listeners.add(one)
    one.stateChanged(this.#state)
    this.#connectSoon(0)
    return () => {
      this.#listeners.delete(one)
      this.#connectSoon(0)
    }
  }

  /** Deferred: when one page replaces another, the topics change once. */
  #connectSoon(ms: number): void {
    this.#cancel?.()
    this.#cancel = this.#schedule(() => {
      this.#cancel = null
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
    source.addEventListener('open', () => this.#notify('open'))
    source.addEventListener('error', () => {
      this.#notify('lost')
      if (source.readyState === CLOSED) this.#connectSoon(RETRY_MS)
    })
    for (const topic of wanted)
      source.addEventListener(topic, ({ data }) => {
        const event = JSON.parse(data) as LiveEvents[LiveTopic]
        for (const one of this.#listeners)
          if (one.topic === topic) (one.receive as (event: unknown) => void)(event)
      })
  }

  #notify(state: LinkState): void {
    this.#state = state
    for (const one of this.#listeners) one.stateChanged(state)
  }
}

export type Loaded<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: T }
  | {
      readonly state: 'failed'
      readonly error: string
      /** The HTTP status; null when there was no response. */
      readonly status: number | null
    }

/** Loads JSON from a path; `again` loads it once more, and the old value stays until the new one is here. */
export function useLoaded<T>(path: string): readonly [Loaded<T>, again: () => void] {
  const [loaded, set] = useState<Loaded<T>>({ state: 'loading' })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    get<T>(path, controller.signal).then(
      (value) => set({ state: 'ready', value }),
      (error: unknown) => {
        if (controller.signal.aborted) return
        const failed = failureOf(error)
        // The frame shows that the gateway is unreachable; the last value is more useful than a blank page.
        set((was) => (was.state === 'ready' && failed.status === null ? was : failed))
      },
    )
    return () => controller.abort()
  }, [path, turn])
  return [loaded, useCallback(() => setTurn((was) => was + 1), [])]
}

function failureOf(error: unknown): Extract<Loaded<never>, { state: 'failed' }> {
  const text = error instanceof Error ? error.message : String(error)
  return {
    state: 'failed',
    error: text,
    status: error instanceof RequestError ? error.status : null,
  }
}

const LiveContext = createContext(
  new Live(
    (path) => new EventSource(path),
    (act, ms) => {
      const timer = setTimeout(act, ms)
      return () => clearTimeout(timer)
    },
  ),
)

/** Receives events of one topic while the component is shown. All topics share one connection. */
export function useLive<T extends LiveTopic>(
  topic: T,
  receive: (event: LiveEvents[T]) => void,
): LinkState {
  const live = useContext(LiveContext)
  const [state, set] = useState<LinkState>('opening')
  const latest = useLatest(receive)
  useEffect(
    () => live.add({ topic, receive: (event) => latest.current(event), stateChanged: set }),
    [live, topic],
  )
  return state
}

/** Calls `act` after a reconnect, since events in between were missed. */
export function useReconnect(link: LinkState, act: () => void): void {
  const before = useRef(link)
  useEffect(() => {
    if (link === 'open' && before.current === 'lost') act()
    before.current = link
  }, [link])
}

/** The latest value, for callbacks that outlive one render. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value)
  useLayoutEffect(() => {
    latest.current = value
  })
  return latest
}

/** State that survives a reload of the page, if the browser allows storage. */
export function useStored(name: string, first: string): readonly [string, (value: string) => void] {
  const [value, set] = useState(() => read(name) ?? first)
  const store = useCallback(
    (next: string) => {
      set(next)
      try {
        localStorage.setItem(name, next)
      } catch {
        // Storage may be disabled.
      }
    },
    [name],
  )
  return [value, store]
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}
