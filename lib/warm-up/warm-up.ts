// Before its guests come, a gateway serves itself. V8 interprets code at first and compiles what runs often: without it the
// first requests would cost up to ten times as much as those after some thousands.

import type { Config } from '../base/config/types.ts'
import { CHAT_PATH, PLAIN_PATH, Stage } from './stage.ts'
import { visit } from './visit.ts'

/** Visits of some requests each: in all, and at a time. */
const VISITS = 1_200
const AT_ONCE = 8
/** On a slow machine it is over before all have come. */
const LONGEST_MS = 5_000

/** Over as soon as `isWanted`, which is asked again and again, says no. Rejects when this machine has no loopback to spare. */
export async function warmUp(config: Config, isWanted: () => boolean): Promise<void> {
  const until = performance.now() + LONGEST_MS
  const paths = hasModels(config) ? [PLAIN_PATH, CHAT_PATH] : [PLAIN_PATH]
  const stage = await Stage.set(config)
  try {
    for (let left = VISITS; left > 0; left -= AT_ONCE)
      for (const path of paths) {
        if (!isWanted() || performance.now() > until) return
        const ports = Array.from({ length: AT_ONCE }, () => stage.nextPort())
        await Promise.all(ports.map((port) => visit(port, path)))
      }
  } finally {
    await stage.clear()
  }
}

/** What nobody will ask for need not be compiled. */
function hasModels({ gateways }: Config): boolean {
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
  const backends = routes.flatMap(({ backends }) => backends)
  return backends.some(({ kind }) => kind === 'ai' || kind === 'llm')
}
