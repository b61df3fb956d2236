// Shows what outlives the page.

import { useEffect, useState } from './view.ts'
import type { Held } from './held.ts'

/** What it holds, now and whenever that changes. */
export function useHeld<T>(held: Held<T>): T {
  const [, draw] = useState({})
  useEffect(() => {
    const seen = held.value
    const stop = held.listen(() => draw({}))
    // It may have changed between the drawing and this.
    if (held.value !== seen) draw({})
    return stop
  }, [held])
  return held.value
}
