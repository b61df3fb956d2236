// What several pages do with data: ask once and again, hear what is live, and remember a choice.

import { useCallback, useEffect, useRef, useState } from './view.ts'
import { get, listen } from './api.ts'
import type { LinkState } from './api.ts'
import type { LiveEvents, Topic } from '../api.ts'

export type Loaded<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly value: T }
  | { readonly state: 'failed'; readonly error: string }

/** What the path answers; `again` asks once more, and what is shown stays until then. */
export function useLoaded<T>(path: string): readonly [Loaded<T>, again: () => void] {
  const [loaded, set] = useState<Loaded<T>>({ state: 'loading' })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    get<T>(path, controller.signal).then(
      (value) => set({ state: 'ready', value }),
      (error: unknown) => {
        if (controller.signal.aborted) return
        set({ state: 'failed', error: error instanceof Error ? error.message : String(error) })
      },
    )
    return () => controller.abort()
  }, [path, turn])
  return [loaded, useCallback(() => setTurn((was) => was + 1), [])]
}

/** Hears one topic as long as the page shows it. */
export function useLive<T extends Topic>(
  topic: T,
  hear: (event: LiveEvents[T]) => void,
): LinkState {
  const [state, set] = useState<LinkState>('opening')
  const latest = useRef(hear)
  latest.current = hear
  useEffect(
    () => listen({ [topic]: (event: LiveEvents[T]) => latest.current(event) }, set),
    [topic],
  )
  return state
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
