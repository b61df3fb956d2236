// When a process of the gateway warms up, and until when: whoever serves many learns by that.

import { Descriptors } from '../base/bounds/descriptors.ts'
import type { Config } from '../base/config/types.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log/log.ts'
import type { Gateway } from '../gateway.ts'
import { warmUp } from '../warm-up/warm-up.ts'

/** With so many connections it is the guests that warm it up. */
const MANY = 8
/** Who may have fewer files open has none to spare for it. */
const LEAST_DESCRIPTORS = 256

export interface WarmOptions {
  readonly config: Config
  readonly gateway: Pick<Gateway, 'readiness' | 'connections'>
  readonly log: Log
  /** By the configuration and the environment. */
  readonly word: 'on' | 'off'
  /** Whether somebody else serves meanwhile, where it is done before this one does. */
  readonly isServed?: () => boolean
  readonly descriptors?: number
}

/** Never rejects: a gateway that could not is slower at first, and nothing else. */
export async function warm(options: WarmOptions): Promise<void> {
  const { config, gateway, log, word, isServed = () => true } = options
  const { descriptors = new Descriptors().limit } = options
  if (word === 'off' || descriptors < LEAST_DESCRIPTORS) return
  const isWanted = (): boolean =>
    gateway.readiness !== 'draining' && gateway.connections < MANY && isServed()
  try {
    const { plain, chats } = await warmUp(config, isWanted)
    log.line('debug', 'gateway', 'warmed up', ['plain', plain, 'chats', chats])
  } catch (error) {
    log.line('debug', 'gateway', 'cannot warm up', ['error', messageOf(error)])
  }
}
