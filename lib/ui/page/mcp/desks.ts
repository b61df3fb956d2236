// The playgrounds of this tab, one for each backend that was looked at. Their sessions end when the tab goes.

import { Desk } from './desk.ts'

/** As many as the gateway tells of at once, and some. */
const MAX_DESKS = 200

const DESKS = new Map<string, Desk>()

export function deskOf(backend: string): Desk {
  const known = DESKS.get(backend)
  if (known !== undefined) return known
  const desk = new Desk()
  DESKS.set(backend, desk)
  const [oldest] = DESKS.keys()
  if (DESKS.size > MAX_DESKS && oldest !== undefined) {
    DESKS.get(oldest)?.disconnect()
    DESKS.delete(oldest)
  }
  return desk
}

addEventListener('pagehide', () => {
  for (const desk of DESKS.values()) desk.disconnect()
})
