// A gateway in this process from a configuration text, and a stage that closes everything a spec has opened.

import type { NetConnectOpts } from 'node:net'
import { freePort } from '../../conformance/gateway-process.ts'
import { parseConfig } from '../../lib/config/load.ts'
import type { StartInterval } from '../../lib/core/scheduling.ts'
import type { MetricFamily } from '../../lib/core/metric-families.ts'
import type { LiveSnapshot } from '../../lib/core/runtime-views.ts'
import { Log } from '../../lib/core/log.ts'
import type { LoggingLevel, LogModule, LogLinePrefix, LogValue } from '../../lib/core/log.ts'
import type { TraceWatchers } from '../../lib/trace/trace-watchers.ts'
import { Gateway } from '../../lib/gateway.ts'
import type { Plan } from '../../lib/config/live/plan.ts'
import type { ReadApi } from '../../lib/admin/page-api/read-api.ts'
import { Backend } from './backend.ts'
import type { Step } from './backend.ts'
import { deadline } from './deadline.ts'
import { RawClient } from './raw-client.ts'

const WAIT_MS = 30_000

/** One line of the log, with its level and message. */
export type Line = Record<string, LogValue>

/** Receives log lines before they are buffered and written. */
export class LogRecorder extends Log {
  readonly #onLine: (line: Line) => void

  constructor(onLine: (line: Line) => void) {
    super({ level: 'info', format: 'json', write: (_text, done) => done() })
    this.#onLine = onLine
  }

  override write(
    level: LoggingLevel,
    module: LogModule,
    message: string,
    fields: readonly LogValue[],
  ): void {
    this.writeWithPrefix(this.buildPrefix(level, module, message, fields), [])
  }

  override writeWithPrefix(opening: LogLinePrefix, more: readonly LogValue[]): void {
    const { level, module, message } = opening
    if (this.allows(level, module)) super.writeWithPrefix(opening, more)
    const line: Line = { level, message }
    const fields = [...opening.fields, ...more]
    for (let i = 0; i < fields.length; i += 2)
      if (fields[i + 1] !== undefined) line[String(fields[i])] = fields[i + 1]
    this.#onLine(line)
  }
}

export class RunningGateway {
  readonly port: number
  readonly lines: Line[] = []
  readonly #gateway: Gateway
  #stopped: Promise<void> | null = null
  #wake: (() => void)[] = []

  private constructor(text: string, port: number, timer?: StartInterval) {
    this.port = port
    const config = parseConfig(text, { file: 'c.yaml', env: { PORT: String(port) } })
    this.#gateway = new Gateway(config, new LogRecorder((line) => this.#onLine(line)), timer)
  }

  /** `${PORT}` in the text becomes a free port; without `gateways` a plain one is added on that port. */
  static async start(text: string, timer?: StartInterval): Promise<RunningGateway> {
    const whole = /^gateways:/m.test(text) ? text : GATEWAYS + text
    for (let left = 5; ; left--) {
      const running = new RunningGateway(whole, await freePort(), timer)
      try {
        await deadline(running.#gateway.start(), WAIT_MS, 'the gateway to listen')
        return running
      } catch (error) {
        // Another process has taken the port.
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || left === 0) throw error
      }
    }
  }

  get plan(): Plan {
    return this.#gateway.plan
  }

  get live(): LiveSnapshot {
    return this.#gateway.liveSnapshot
  }

  get measures(): MetricFamily[] {
    return this.#gateway.metricFamilies
  }

  /** The facts for the web UI; nothing is recorded before `start`. */
  get readApi(): ReadApi {
    return this.#gateway.readApi
  }

  get watchers(): TraceWatchers {
    return this.#gateway.watchers
  }

  /** Removes and returns the lines of internal errors that the spec expects. */
  faults(): Line[] {
    const faults = this.lines.filter(({ level }) => level === 'error')
    for (const fault of faults) this.lines.splice(this.lines.indexOf(fault), 1)
    return faults
  }

  /** The access log, once it has this many lines. */
  async logged(count: number): Promise<Line[]> {
    const has = (): Line[] => this.lines.filter(({ message }) => message === 'request')
    while (has().length < count) {
      const logged = new Promise<void>((resolve) => this.#wake.push(resolve))
      await deadline(logged, WAIT_MS, `${count} log lines, not ${JSON.stringify(this.lines)}`)
    }
    return has()
  }

  /** How the first requests ended. */
  async outcomes(count: number): Promise<unknown[]> {
    return (await this.logged(count)).map(({ outcome }) => outcome)
  }

  /** Starts to stop, or returns the running stop. */
  async stop(): Promise<void> {
    this.#stopped ??= this.#gateway.stop()
    await deadline(this.#stopped, WAIT_MS, 'the gateway to stop')
  }

  #onLine(line: Line): void {
    this.lines.push(line)
    const woken = this.#wake
    this.#wake = []
    for (const wake of woken) wake()
  }
}

const GATEWAYS = 'gateways: { default: { port: ${PORT}, address: 127.0.0.1 } }\n'

/** One route for everything; `policies` is YAML in flow form, without braces. */
export function routeTo(backend: { port: number }, policies = ''): string {
  return `routes: [{ name: all, backends: [{ host: 127.0.0.1:${backend.port} }], policies: { ${policies} } }]\n`
}

interface Closable {
  close(): unknown
}

/** The gateways, backends and clients of a spec; call `clear` in `after.each`. */
export class Stage {
  #clients: RawClient[] = []
  #gateways: RunningGateway[] = []
  #others: Closable[] = []

  async backend(...scripts: Step[][]): Promise<Backend> {
    return this.add(await Backend.start(...scripts))
  }

  async gateway(text: string, timer?: StartInterval): Promise<RunningGateway> {
    const gateway = await RunningGateway.start(text, timer)
    this.#gateways.push(gateway)
    return gateway
  }

  async client(target: RunningGateway | NetConnectOpts): Promise<RawClient> {
    const client = await RawClient.connect(target instanceof RunningGateway ? target.port : target)
    this.#clients.push(client)
    return client
  }

  /** Registers something else to close at the end, in reverse order. */
  add<T extends Closable>(closable: T): T {
    this.#others.unshift(closable)
    return closable
  }

  /** Closes everything; an unexpected internal error of the gateway fails the spec. */
  async clear(): Promise<void> {
    const gateways = this.#gateways.splice(0)
    for (const client of this.#clients.splice(0)) client.destroy()
    for (const other of this.#others.splice(0))
      await deadline(Promise.resolve(other.close()), WAIT_MS, 'a resource of the stage to close')
    for (const gateway of gateways) await gateway.stop()
    const faults = gateways.flatMap(({ lines }) => lines.filter(({ level }) => level === 'error'))
    if (faults.length > 0) throw new Error(String(faults[0]?.['cause']))
  }
}
