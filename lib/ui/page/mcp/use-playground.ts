// A session of the playground as the page shows it.

import { useMemo } from '../view.ts'
import { useHeld } from '../use-held.ts'
import type { Way } from './client.ts'
import type { Desk, Link, Said } from './desk.ts'
import type { Offer } from './listed.ts'

export interface Playground {
  readonly link: Link
  readonly offer: Offer | null
  readonly said: readonly Said[]
  readonly connect: (token: string) => void
  readonly disconnect: () => void
  readonly clear: () => void
}

export function usePlayground(desk: Desk, way: Way): Playground {
  const [link, offer, said] = [useHeld(desk.link), useHeld(desk.offer), useHeld(desk.said)]
  const acts = useMemo(
    () => ({
      connect: (token: string) => desk.connect(way, token),
      disconnect: () => desk.disconnect(),
      clear: () => desk.clear(),
    }),
    [desk, way],
  )
  return { link, offer, said, ...acts }
}
