// A gateway in this process that reloads its configuration file.

import { freePort } from '../../conformance/gateway-process.ts'
import { loadConfig } from '../../lib/config/load.ts'
import type { Config } from '../../lib/config/config-types.ts'
import { Mutex } from '../../lib/core/scheduling.ts'
import { Gateway } from '../../lib/gateway.ts'
import { Reloader } from '../../lib/processes/reload.ts'
import { deadline } from './deadline.ts'
import { Folder } from './folder.ts'
import { LogRecorder } from './gateway.ts'
import type { Line } from './gateway.ts'

const WAIT_MS = 30_000
const LOOK_MS = 10
const FILE = 'config.yaml'

const OFF = { kind: 'off' } as const
const NOWHERE = { admin: OFF, stats: OFF, readiness: OFF }

/** The result of a reload, by its log line. */
const ENDS = { reloaded: 'reloaded config', refused: 'Failed to reload config' }

export class Reloading {
  readonly lines: Line[] = []
  readonly folder = new Folder()
  /** Called during a load, after the file is read. */
  whileLoading: () => void = () => {}
  /** Receives every log line. */
  onLine: (line: Line) => void = () => {}
  readonly port: number
  readonly gateway: Gateway
  readonly reloader: Reloader
  #wake: (() => void)[] = []

  private constructor(text: string, port: number) {
    this.port = port
    this.folder.write(FILE, text)
    const log = new LogRecorder((line) => this.#record(line))
    this.gateway = new Gateway(this.#load(), log)
    const load = (): Config => {
      const config = this.#load()
      this.whileLoading()
      return config
    }
    this.reloader = new Reloader(this.gateway, log, { load, mutex: new Mutex(), interval: LOOK_MS })
    const refusal = () => this.reloader.refusal
    this.gateway.readApi.start({ addresses: NOWHERE, refusal })
  }

  /** `${PORT}` in a text becomes `port`; without `gateways` a plain one is added on that port. */
  static async start(text: string): Promise<Reloading> {
    const reloading = new Reloading(withGateway(text), await freePort())
    await deadline(reloading.gateway.start(), WAIT_MS, 'the gateway to listen')
    await reloading.reloader.start(Date.now())
    return reloading
  }

  get generation(): number {
    return this.gateway.plan.generation
  }

  /** Changes the file, and waits until it is applied. */
  async change(text: string): Promise<void> {
    await this.#attempt(text, 'reloaded')
  }

  /** Changes the file, and returns why it is refused. */
  async refusal(text: string): Promise<unknown[]> {
    const from = this.lines.length
    await this.#attempt(text, 'refused')
    return this.lines.slice(from).flatMap(({ problem }) => (problem === undefined ? [] : [problem]))
  }

  /** Lines with this message, once there are `count` of them. */
  async logged(message: string, count = 1): Promise<Line[]> {
    const found = (): Line[] => this.lines.filter((line) => line.message === message)
    while (found().length < count) {
      const recorded = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(recorded, WAIT_MS, `${message} in ${JSON.stringify(this.lines)}`)
    }
    return found()
  }

  async stop(): Promise<void> {
    this.reloader.close()
    await deadline(this.gateway.stop(), WAIT_MS, 'the gateway to stop')
  }

  async close(): Promise<void> {
    await this.stop()
    this.folder.close()
  }

  async #attempt(text: string, end: keyof typeof ENDS): Promise<void> {
    const message = ENDS[end]
    const before = this.lines.filter((line) => line.message === message).length
    this.folder.replace(FILE, withGateway(text))
    await this.logged(message, before + 1)
  }

  #load(): Config {
    return loadConfig([this.folder.at(FILE)], { PORT: String(this.port) })
  }

  #record(line: Line): void {
    this.lines.push(line)
    this.onLine(line)
    for (const wake of this.#wake.splice(0)) wake()
  }
}

function withGateway(text: string): string {
  if (/^gateways:/m.test(text)) return text
  return `gateways: { default: { port: \${PORT}, address: 127.0.0.1 } }\n${text}`
}
