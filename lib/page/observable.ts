// A value that outlives the component that shows it, and the hook that shows it.

import { useEffect, useState } from './page-view.ts'

export class Observable<T> {
  readonly #listeners = new Set<() => void>()
  #value: T

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    if (value === this.#value) return
    this.#value = value
    for (const notify of this.#listeners) notify()
  }

  change(by: (was: T) => T): void {
    this.set(by(this.#value))
  }

  /** Returns a function that removes it. */
  listen(notify: () => void): () => void {
    this.#listeners.add(notify)
    return () => this.#listeners.delete(notify)
  }
}

/** The current value; renders again when it changes. */
export function useObservable<T>(observable: Observable<T>): T {
  const [, draw] = useState({})
  useEffect(() => {
    const seen = observable.value
    const stop = observable.listen(() => draw({}))
    // The value may have changed between the render and this effect.
    if (observable.value !== seen) draw({})
    return stop
  }, [observable])
  return observable.value
}
