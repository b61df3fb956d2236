// Where a gateway warms up: gateways beside the real one, which share nothing with it but the code, and their backend.

import { parseConfig } from '../base/config/load.ts'
import type { Config } from '../base/config/types.ts'
import { every } from '../base/every.ts'
import { Log } from '../base/log/log.ts'
import { openAlone } from '../base/processes/open-port.ts'
import type { OpenPort } from '../base/processes/open-port.ts'
import { Gateway } from '../gateway.ts'
import { ChatBackend } from './backend.ts'

export const PLAIN_PATH = '/plain'
export const CHAT_PATH = '/v1/chat/completions'

/** What V8 compiles for one object only it would throw away when it meets the real one. */
const GATEWAYS = 2

/** Limits are counted, and never reached. Strangers who find it are not waited for. */
const configFor = (port: number): string => `
config: { connectionTerminationDeadline: 10ms }
gateways: { default: { port: 0, address: 127.0.0.1 } }
routes:
  - matches: [{ path: { exact: ${PLAIN_PATH} } }]
    backends: [{ host: '127.0.0.1:${port}' }]
  - matches: [{ path: { exact: ${CHAT_PATH} } }]
    policies:
      rateLimit:
        local: [{ requests: 1000000, unit: Seconds }, { tokens: 100000000, unit: Seconds }]
    backends:
      - ai:
          name: warm-up
          provider: { custom: { formats: [{ type: completions }] } }
          hostOverride: 127.0.0.1:${port}
`

export class Rehearsal {
  readonly #backend: ChatBackend
  readonly #gateways: Gateway[] = []
  readonly #ports: number[] = []
  #turn = 0

  private constructor(backend: ChatBackend) {
    this.#backend = backend
  }

  /** `like`: lines are made as there, and then thrown away. */
  static async begin(like: Config): Promise<Rehearsal> {
    const rehearsal = new Rehearsal(await ChatBackend.open())
    try {
      for (let left = GATEWAYS; left > 0; left--) await rehearsal.#add(like)
      return rehearsal
    } catch (error) {
      await rehearsal.end()
      throw error
    }
  }

  /** Each gateway's in turn. */
  nextPort(): number {
    this.#turn = (this.#turn + 1) % this.#ports.length
    return this.#ports[this.#turn]!
  }

  async end(): Promise<void> {
    this.#backend.close()
    await Promise.all(this.#gateways.map((gateway) => gateway.stop()))
  }

  async #add({ process: { logging } }: Config): Promise<void> {
    const openPort: OpenPort = async (server, place) => {
      const opened = await openAlone(server, place)
      this.#ports.push(opened.port)
      return opened
    }
    const log = new Log({ ...logging, write: (_text, done) => done() })
    const config = parseConfig(configFor(this.#backend.port), { file: '<warm-up>', env: {} })
    const gateway = new Gateway(config, log, every, { openPort, worker: null })
    this.#gateways.push(gateway)
    await gateway.start()
  }
}
