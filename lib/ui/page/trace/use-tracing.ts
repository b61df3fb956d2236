// Watching requests from within the page: one at a time, or one after the other, and what was seen.

import { useCallback, useEffect, useRef, useState } from '../view.ts'
import { ask } from '../api.ts'
import { useLatest } from '../use.ts'
import { watchTrace } from './watch.ts'
import { ended, withSteps, withTrace } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import type { Step } from '../../../base/trace-reading/step.ts'

/** `waiting` since then for a request; `running`: one is being told. */
export type Watch =
  | { readonly state: 'idle' }
  | { readonly state: 'opening' }
  | { readonly state: 'waiting'; readonly since: number }
  | { readonly state: 'running'; readonly id: number }
  | { readonly state: 'failed'; readonly error: string }

export type Pace = 'once' | 'again and again'

export interface Tracing {
  readonly traces: readonly KeptTrace[]
  readonly watch: Watch
  readonly arm: (expression: string, pace: Pace) => void
  readonly stop: () => void
  /** Of a file; the first of them, 0 for none. */
  readonly add: (file: string, traces: readonly (readonly Step[])[]) => number
  readonly clear: () => void
}

/** Between two requests that are watched one after the other: most of them are to pass unwatched. */
const REST_MS = 250

/** `began` hears of each trace that was waited for, as it begins. */
export function useTracing(began: (id: number) => void): Tracing {
  const [traces, setTraces] = useState<readonly KeptTrace[]>([])
  const [watch, setWatch] = useState<Watch>({ state: 'idle' })
  const ids = useRef(0)
  const told = useLatest(began)
  const running = useRef<AbortController | null>(null)

  const stop = useCallback(() => {
    running.current?.abort()
    running.current = null
    setWatch({ state: 'idle' })
  }, [])

  const arm = useCallback((expression: string, pace: Pace) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const begin = (): number => {
      const id = ++ids.current
      const empty = {
        id,
        file: null,
        at: Date.now(),
        steps: [],
        left: 0,
        state: 'running',
      } as const
      setTraces((was) => withTrace(was, empty))
      setWatch({ state: 'running', id })
      told.current(id)
      return id
    }
    follow({ expression, pace, signal: controller.signal, begin, setTraces, setWatch }).catch(
      (error: unknown) => {
        if (controller.signal.aborted) return
        setWatch({ state: 'failed', error: error instanceof Error ? error.message : String(error) })
      },
    )
  }, [])

  const add = useCallback((file: string, loaded: readonly (readonly Step[])[]) => {
    for (const steps of loaded.toReversed()) {
      const id = ++ids.current
      const trace = { id, file, at: Date.now(), steps, left: 0, state: 'running' } as const
      setTraces((was) => ended(withTrace(was, trace), id))
    }
    return loaded.length === 0 ? 0 : ids.current
  }, [])

  const clear = useCallback(() => setTraces([]), [])
  useEffect(() => () => running.current?.abort(), [])
  return { traces, watch, arm, stop, add, clear }
}

interface Following {
  readonly expression: string
  readonly pace: Pace
  readonly signal: AbortSignal
  readonly begin: () => number
  readonly setTraces: (change: (was: readonly KeptTrace[]) => readonly KeptTrace[]) => void
  readonly setWatch: (watch: Watch) => void
}

async function follow(following: Following): Promise<void> {
  const { pace, signal, setWatch } = following
  for (;;) {
    setWatch({ state: 'opening' })
    const count = await one(following)
    if (count === 0) throw new Error('the gateway ended the watch before a request came')
    if (pace === 'once') return setWatch({ state: 'idle' })
    await rest(signal)
  }
}

/** How many events came. */
async function one({ expression, signal, begin, setTraces, setWatch }: Following): Promise<number> {
  let id = 0
  let count = 0
  const ready = (): void => setWatch({ state: 'waiting', since: Date.now() })
  const steps = (found: readonly Step[]): void => {
    if (id === 0) id = begin()
    count += found.length
    setTraces((was) => withSteps(was, id, found))
  }
  try {
    await watchTrace(expression, { ready, steps }, signal, ask)
  } finally {
    if (id > 0) setTraces((was) => ended(was, id))
  }
  return count
}

function rest(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, REST_MS)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new Error('stopped'))
    })
  })
}
