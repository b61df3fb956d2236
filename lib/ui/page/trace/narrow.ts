// Whether the page shows things below each other that are beside each other where there is room.

import { useEffect, useState } from '../view.ts'

/** As the sheet has it. */
const NARROW = '(max-width: 1000px)'

export function useNarrow(): boolean {
  const [isNarrow, set] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const media = matchMedia(NARROW)
    const changed = (): void => set(media.matches)
    media.addEventListener('change', changed)
    return () => media.removeEventListener('change', changed)
  }, [])
  return isNarrow
}
