// A gateway serves itself for a moment. V8 interprets code at first and compiles what runs often: without it the first
// requests cost up to ten times as much as those after some thousands.

import type { Config } from '../base/config/types.ts'
import { CHAT_PATH, PLAIN_PATH, Rehearsal } from './rehearsal.ts'
import { visit } from './visit.ts'

/**
 * Visits to a path, of three requests each: in all, and at a time. A first burst of 200 streams takes 60 to 120 ms of the processor
 * without any, 33 to 42 with 300, 24 to 47 with 600 and with more.
 */
const VISITS = 600
const AT_ONCE = 8
/** On a slow machine it is over before all have come. */
const LONGEST_MS = 5_000

/** Visits that were paid. */
export interface Warmth {
  readonly plain: number
  readonly chats: number
}

/** Over as soon as `isWanted`, which is asked again and again, says no. Rejects where loopback has no room for it. */
export async function warmUp(
  config: Config,
  isWanted: () => boolean,
  now = (): number => performance.now(),
): Promise<Warmth> {
  const until = now() + LONGEST_MS
  const mayGoOn = (): boolean => isWanted() && now() <= until
  const rehearsal = await Rehearsal.begin(config)
  const warmth = { plain: 0, chats: 0 }
  const come = async (path: string): Promise<void> => {
    const ports = Array.from({ length: AT_ONCE }, () => rehearsal.nextPort())
    await Promise.all(ports.map((port) => visit(port, path)))
  }
  try {
    while (warmth.plain < VISITS && mayGoOn()) {
      await come(PLAIN_PATH)
      warmth.plain += AT_ONCE
      // What nobody will ask for need not be compiled.
      if (!hasModels(config) || !mayGoOn()) continue
      await come(CHAT_PATH)
      warmth.chats += AT_ONCE
    }
  } finally {
    await rehearsal.end()
  }
  return warmth
}

function hasModels({ gateways }: Config): boolean {
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
  const backends = routes.flatMap(({ backends }) => backends)
  return backends.some(({ kind }) => kind === 'ai' || kind === 'llm')
}
