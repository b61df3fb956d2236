// One run of the Envoy project's rate limit service with the rules of a spec and a Redis.

import { writeFileSync, mkdirSync } from 'node:fs'
import { freePort } from '../../../conformance/gateway-process.ts'
import { deadline } from '../deadline.ts'
import { Folder } from '../folder.ts'
import { until } from '../idp/until.ts'
import { ServerProgram } from './program.ts'
import { startRedis } from './redis.ts'
import type { Redis } from './redis.ts'

const START_MS = 60_000
const HOST = '127.0.0.1'

interface Status {
  readonly code?: string
  readonly currentLimit?: { readonly requestsPerUnit: number }
  readonly limitRemaining?: number
}

export class RealService {
  readonly port: number
  readonly domain: string
  readonly redis: Redis
  readonly #binary: string
  readonly #folder = new Folder()
  readonly #httpPort: number
  readonly #debugPort: number
  #program: ServerProgram | null = null

  private constructor(binary: string, domain: string, redis: Redis, ports: readonly number[]) {
    this.#binary = binary
    this.domain = domain
    this.redis = redis
    const [port = 0, httpPort = 0, debugPort = 0] = ports
    this.port = port
    this.#httpPort = httpPort
    this.#debugPort = debugPort
  }

  /** `rules` are the descriptors of its configuration, in YAML. */
  static async start(binary: string, domain: string, rules: string): Promise<RealService> {
    const ports = [await freePort(), await freePort(), await freePort()]
    const service = new RealService(binary, domain, await startRedis(), ports)
    mkdirSync(service.#folder.at('config'))
    writeFileSync(
      service.#folder.at('config/rules.yaml'),
      `domain: ${domain}\ndescriptors:\n${rules}\n`,
    )
    try {
      await service.resume()
      return service
    } catch (error) {
      await service.stop()
      throw error
    }
  }

  /** Starts it, also after `halt`: Redis has kept the counts. */
  async resume(): Promise<void> {
    this.#program = new ServerProgram(this.#binary, [], {
      GRPC_HOST: HOST,
      GRPC_PORT: String(this.port),
      HOST,
      PORT: String(this.#httpPort),
      DEBUG_HOST: HOST,
      DEBUG_PORT: String(this.#debugPort),
      RUNTIME_ROOT: this.#folder.path,
      RUNTIME_SUBDIRECTORY: '',
      RUNTIME_APPDIRECTORY: 'config',
      RUNTIME_WATCH_ROOT: 'false',
      USE_STATSD: 'false',
      DISABLE_STATS: 'true',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `${HOST}:${this.redis.port}`,
      LIMIT_RESPONSE_HEADERS_ENABLED: 'true',
    })
    await this.#program.waitForOutput(/Listening for gRPC/, START_MS)
    await until(
      () => this.#ask('/healthcheck', null).catch(String),
      (text) => text === 'OK',
      START_MS,
    )
  }

  async halt(): Promise<void> {
    await this.#program?.stop()
    this.#program = null
  }

  async stop(): Promise<void> {
    await this.halt()
    await this.redis.stop()
    this.#folder.close()
  }

  /** The remaining budget of a counter, by the JSON endpoint of the service; the query is not counted. */
  async remaining(key: string, value: string): Promise<number> {
    const request = {
      domain: this.domain,
      descriptors: [{ entries: [{ key, value }], hitsAddend: '0' }],
    }
    const text = await this.#ask('/json', JSON.stringify(request))
    const { statuses } = JSON.parse(text) as { statuses: Status[] }
    return statuses[0]!.limitRemaining ?? 0
  }

  async #ask(path: string, body: string | null): Promise<string> {
    const method = body === null ? 'GET' : 'POST'
    const signal = AbortSignal.timeout(START_MS)
    const answer = await fetch(`http://${HOST}:${this.#httpPort}${path}`, { method, body, signal })
    return deadline(answer.text(), START_MS, path)
  }
}
