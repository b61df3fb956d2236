// What several pages do with data: ask once and again, hear what is live, and remember a choice.

import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from './view.ts'
import { get, Refused } from './api.ts'
import { Live } from './live.ts'
import type { LinkState } from './live.ts'
import type { LiveEvents, LiveTopic } from '../../admin/page-api/page-api-types.ts'

export type Loaded<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: T }
  | {
      readonly state: 'failed'
      readonly error: string
      /** Of the answer; null when there was none. */
      readonly status: number | null
    }

/** What the path answers; `again` asks once more, and what is shown stays until there is another answer. */
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
        // The frame says that the gateway is not there; what was seen last is worth more than a blank page.
        set((was) => (was.state === 'ready' && failed.status === null ? was : failed))
      },
    )
    return () => controller.abort()
  }, [path, turn])
  return [loaded, useCallback(() => setTurn((was) => was + 1), [])]
}

function failureOf(error: unknown): Extract<Loaded<never>, { state: 'failed' }> {
  const text = error instanceof Error ? error.message : String(error)
  return { state: 'failed', error: text, status: error instanceof Refused ? error.status : null }
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

/** Hears one topic as long as the page shows it. All share one connection. */
export function useLive<T extends LiveTopic>(
  topic: T,
  hear: (event: LiveEvents[T]) => void,
): LinkState {
  const live = useContext(LiveContext)
  const [state, set] = useState<LinkState>('opening')
  const latest = useLatest(hear)
  useEffect(
    () => live.add({ topic, hear: (event) => latest.current(event), told: set }),
    [live, topic],
  )
  return state
}

/** Acts when the connection is there again: what passed meanwhile was not heard. */
export function useReturn(link: LinkState, act: () => void): void {
  const before = useRef(link)
  useEffect(() => {
    if (link === 'open' && before.current === 'lost') act()
    before.current = link
  }, [link])
}

/** What was drawn last, for what outlives a drawing. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value)
  useLayoutEffect(() => {
    latest.current = value
  })
  return latest
}

/** Survives a reload of the page, where the browser lets it. */
export function useKept(name: string, first: string): readonly [string, (value: string) => void] {
  const [value, set] = useState(() => read(name) ?? first)
  const keep = useCallback(
    (next: string) => {
      set(next)
      try {
        localStorage.setItem(name, next)
      } catch {
        // A browser that keeps nothing is no fault.
      }
    },
    [name],
  )
  return [value, keep]
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}
