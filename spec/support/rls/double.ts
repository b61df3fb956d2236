// A rate limit service by grpc-js: it counts in fixed windows by a clock that the spec sets, as the real one does in Redis.

import { Server, ServerCredentials, status as codes } from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import { deadline } from '../deadline.ts'
import { SERVICE } from './protocol.ts'
import type { UnitName, WireAnswer, WireDescriptor, WireRequest, WireStatus } from './protocol.ts'

const SECONDS: Partial<Record<UnitName, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
}

export interface Rule {
  readonly requests_per_unit: number
  readonly unit: UnitName
  /** Counted, but never refused. */
  readonly shadow?: boolean
}

/** The rules, and optional deviations from plain counting. */
export interface RlsBehavior {
  /** By the key of a descriptor's first entry. */
  rules: Record<string, Rule>
  /** Fields to add to the counted answer. */
  extra?: (answer: WireAnswer) => Partial<WireAnswer>
  /** Answers wait for this. */
  hold?: Promise<void>
  fail?: { code: number; details: string }
}

export class RlsDouble {
  /** Seconds. */
  now = 1_000_000
  readonly behavior: RlsBehavior
  readonly requests: WireRequest[] = []
  /** The number of calls that the client cancelled. */
  cancelled = 0
  readonly #counts = new Map<string, number>()
  #server: Server | null = null
  #port = 0

  private constructor(manners: RlsBehavior) {
    this.behavior = manners
  }

  static async start(manners: RlsBehavior): Promise<RlsDouble> {
    const double = new RlsDouble(manners)
    await double.listen()
    return double
  }

  get port(): number {
    return this.#port
  }

  get endpoint() {
    return { kind: 'tcp', host: '127.0.0.1', port: this.#port } as const
  }

  /** Also after `stop`, on the same port. */
  async listen(): Promise<void> {
    const server = new Server()
    server.addService(SERVICE, {
      ShouldRateLimit: (
        call: ServerUnaryCall<WireRequest, WireAnswer>,
        done: sendUnaryData<WireAnswer>,
      ) => void this.#serve(call, done),
    })
    const bound = new Promise<number>((resolve, reject) => {
      const address = `127.0.0.1:${this.#port}`
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      )
    })
    this.#port = await deadline(bound, 30_000, 'a rate limit service to listen')
    this.#server = server
  }

  stop(): void {
    this.#server?.forceShutdown()
    this.#server = null
  }

  /** The value of a counter in the current window. */
  countOf(key: string, value: string): number {
    const { unit } = this.behavior.rules[key]!
    return this.#counts.get(this.#nameOf([{ key, value }], unit)) ?? 0
  }

  async #serve(
    call: ServerUnaryCall<WireRequest, WireAnswer>,
    done: sendUnaryData<WireAnswer>,
  ): Promise<void> {
    call.on('cancelled', () => this.cancelled++)
    this.requests.push(call.request)
    const { fail, hold, extra } = this.behavior
    if (hold !== undefined) await hold
    if (fail !== undefined) return done(fail)
    if (call.request.domain === '') return done({ code: codes.UNKNOWN, details: 'no domain' })
    const answer = this.#count(call.request)
    done(null, { ...answer, ...extra?.(answer) })
  }

  #count({ domain, descriptors, hits_addend: common }: WireRequest): WireAnswer {
    const statuses = descriptors.map((descriptor) => {
      const own = descriptor.hits_addend
      return this.#add(domain, descriptor, own === null ? Math.max(1, common) : Number(own.value))
    })
    const isOver = statuses.some(({ code }) => code === 'OVER_LIMIT')
    return { overall_code: isOver ? 'OVER_LIMIT' : 'OK', statuses }
  }

  #add(_domain: string, { entries, limit }: WireDescriptor, hits: number): WireStatus {
    const rule: Rule | undefined = limit ?? this.behavior.rules[entries[0]!.key]
    if (rule === undefined) return { code: 'OK', limit_remaining: 0 }
    const name = this.#nameOf(entries, rule.unit)
    const count = (this.#counts.get(name) ?? 0) + hits
    this.#counts.set(name, count)
    const isOver = count > rule.requests_per_unit
    const window = SECONDS[rule.unit]!
    return {
      code: isOver && rule.shadow !== true ? 'OVER_LIMIT' : 'OK',
      current_limit: { requests_per_unit: rule.requests_per_unit, unit: rule.unit },
      limit_remaining: isOver ? 0 : rule.requests_per_unit - count,
      duration_until_reset: { seconds: window - (this.now % window), nanos: 0 },
    }
  }

  #nameOf(entries: readonly { key: string; value: string }[], unit: UnitName): string {
    return JSON.stringify([
      entries.map(({ key, value }) => [key, value]),
      Math.floor(this.now / SECONDS[unit]!),
    ])
  }
}
