// Watching requests: one at a time, or one after the other, and what was seen. It goes on while other pages are shown.

import { Held } from '../held.ts'
import { watchTrace } from './watch.ts'
import type { Open } from './watch.ts'
import { ended, withSteps, withTrace } from './traces.ts'
import type { KeptTrace } from './traces.ts'
import type { Step } from '../../../trace-view/trace-event.ts'

/** `waiting` since then for a request; `running`: one is being told. */
export type Watch =
  | { readonly state: 'idle' }
  | { readonly state: 'opening' }
  | { readonly state: 'waiting'; readonly since: number }
  | { readonly state: 'running'; readonly id: number }
  | { readonly state: 'failed'; readonly error: string }

export type Pace = 'once' | 'again and again'

/** A trace that is looked at, and the step that was picked; null where nobody has. */
export interface Look {
  readonly id: number
  readonly step: number | null
}

const NOTHING: Look = { id: 0, step: null }

/** Between two requests that are watched one after the other: most of them are to pass unwatched. */
const REST_MS = 250

const AWAY = 'The gateway went away while waiting. Trace again.'
const OVER = 'The gateway ended the watch before a request came. Trace again.'

export class Tracer {
  readonly traces = new Held<readonly KeptTrace[]>([])
  readonly watch = new Held<Watch>({ state: 'idle' })
  readonly expression = new Held('')
  readonly pace = new Held<Pace>('once')
  readonly look = new Held<Look>(NOTHING)
  readonly #open: Open
  #running: AbortController | null = null
  #lastId = 0

  constructor(open: Open) {
    this.#open = open
  }

  /** Resolves to whether a request that comes now is traced. */
  arm(expression: string, pace: Pace): Promise<'ready' | 'refused'> {
    this.#running?.abort()
    const { signal } = (this.#running = new AbortController())
    this.look.set(NOTHING)
    this.pace.set(pace)
    this.watch.set({ state: 'opening' })
    return new Promise((resolve) => {
      this.#follow(expression, pace, signal, () => resolve('ready')).catch((error: unknown) => {
        resolve('refused')
        if (!signal.aborted) this.watch.set({ state: 'failed', error: wordsOf(error) })
      })
    })
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
    this.watch.set({ state: 'idle' })
  }

  /** Of a file; the first of them is shown. */
  add(file: string, loaded: readonly (readonly Step[])[]): void {
    for (const steps of loaded.toReversed()) this.#end(this.#keep(file, steps))
    if (loaded.length > 0) this.choose(this.#lastId)
  }

  choose(id: number): void {
    this.look.set({ id, step: null })
  }

  pick(id: number, step: number): void {
    this.look.set({ id, step })
  }

  clear(): void {
    this.traces.set([])
  }

  async #follow(
    expression: string,
    pace: Pace,
    signal: AbortSignal,
    ready: () => void,
  ): Promise<void> {
    for (;;) {
      this.watch.set({ state: 'opening' })
      const count = await this.#one(expression, pace, signal, ready)
      if (signal.aborted) return
      if (count === 0) throw new Error(OVER)
      if (pace === 'once') return this.watch.set({ state: 'idle' })
      await rest(signal)
    }
  }

  /** How many events came. */
  async #one(
    expression: string,
    pace: Pace,
    signal: AbortSignal,
    ready: () => void,
  ): Promise<number> {
    let id = 0
    let count = 0
    const owner = {
      ready: (): void => {
        this.watch.set({ state: 'waiting', since: Date.now() })
        ready()
      },
      steps: (found: readonly Step[]): void => {
        if (id === 0) id = this.#begin(pace)
        count += found.length
        this.traces.change((was) => withSteps(was, id, found))
      },
    }
    try {
      await watchTrace(expression, owner, signal, this.#open)
    } finally {
      if (id > 0) this.#end(id)
    }
    return count
  }

  #begin(pace: Pace): number {
    const id = this.#keep(null, [])
    this.watch.set({ state: 'running', id })
    // Whoever keeps tracing looks at one while others come.
    if (pace === 'once' || this.look.value.id === 0) this.choose(id)
    return id
  }

  #keep(file: string | null, steps: readonly Step[]): number {
    const id = ++this.#lastId
    const trace = { id, file, at: Date.now(), steps, left: 0, state: 'running' } as const
    this.traces.change((was) => withTrace(was, trace))
    return id
  }

  #end(id: number): void {
    this.traces.change((was) => ended(was, id))
  }
}

/** What browsers throw when nobody is there, or nobody any more, is a TypeError with words of their own. */
function wordsOf(error: unknown): string {
  if (error instanceof TypeError) return AWAY
  return error instanceof Error ? error.message : String(error)
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
