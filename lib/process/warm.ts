// When a process of the gateway warms up, and until when: whoever serves many learns by that.

import type { Config } from '../base/config/types.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import type { Gateway } from '../gateway.ts'
import { warmUp } from '../warm-up/warm-up.ts'
import type { Start } from './start.ts'

/** With so many connections guests are what it is warmed up by. */
const MANY = 8

interface Cold {
  readonly config: Config
  readonly gateway: Gateway
  readonly log: Log
}

/** Never rejects: a gateway that could not is slower at first, and nothing else. */
export async function warm({ env }: Start, { config, gateway, log }: Cold): Promise<void> {
  if ((env.WARM_UP ?? config.process.warmUp) === 'off') return
  const isWanted = (): boolean => gateway.readiness !== 'draining' && gateway.connections < MANY
  try {
    await warmUp(config, isWanted)
    log.line('debug', 'gateway', 'warmed up', [])
  } catch (error) {
    log.line('debug', 'gateway', 'cannot warm up', ['error', messageOf(error)])
  }
}
