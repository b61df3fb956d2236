// The work of limits for one request, without the request: the only part of perf/ that calls lib/ directly.
import type { ExchangeFacts } from '../lib/core/facts.ts'
import { parseConfig } from '../lib/config/load.ts'
import { Exchange } from '../lib/core/exchange.ts'
import { MAX_LIMIT_KEYS } from '../lib/core/bounds.ts'
import type { RateLimitRule } from '../lib/enforce/limit/limit-rule.ts'
import { EMPTY_BODY, buildReply } from '../lib/core/replies.ts'
import type {
  ExchangeClient,
  Policy,
  TokenLimitPolicy,
  ExchangeHandler,
} from '../lib/core/types.ts'
import { parseRequestHead } from '../lib/http/parse-head.ts'
import { LimitRegistry } from '../lib/enforce/limit/limits.ts'
import {
  createLocalRateLimitPolicy,
  createTokenLimitPolicy,
} from '../lib/enforce/limit/local-limits.ts'

export const LIMIT_CASES = ['requests', 'headers', 'tokens', 'keyed', 'cold'] as const
export type LimitCase = (typeof LIMIT_CASES)[number]

/** A limit that is never reached. */
export const PLENTY = 1e15
const ENTRIES: Readonly<Record<LimitCase, object>> = {
  requests: { requests: PLENTY, unit: 'Hours' },
  tokens: { tokens: PLENTY, unit: 'Hours' },
  keyed: { tokens: PLENTY, unit: 'Hours', key: 'jwt.sub' },
  cold: { tokens: PLENTY, unit: 'Hours', key: 'jwt.sub' },
  headers: { requests: PLENTY, unit: 'Hours' },
}

const ESTIMATE = { model: 'perf', input: 416, output: 128, maxOutput: 1_024 }
const COST = { input: 480, output: 100, basis: 'counted' } as const

/** As many keys as a rule keeps. */
export const KEYS = MAX_LIMIT_KEYS
/** How many keys take turns: a thousand, or more than any cache holds. */
const KEY_COUNTS: Readonly<Record<LimitCase, number>> = {
  requests: 1,
  headers: 1,
  tokens: 1,
  keyed: 1_024,
  cold: KEYS,
}
/** Keys are used in an order that caches cannot predict. The step shares no factor with the counts above, so every key is used. */
const STEP = 40_503

export class LimitWork {
  readonly rule: RateLimitRule
  readonly exchange = exchangeOf()
  readonly #case: LimitCase
  readonly #policy: Policy
  readonly #meter: TokenLimitPolicy
  readonly #facts: readonly ExchangeFacts[]
  readonly #head = buildReply(200, [['content-type', 'application/json']], '').head
  #at = 0

  constructor(name: LimitCase) {
    this.#case = name
    this.rule = ruleOf(ENTRIES[name])
    this.#policy = createLocalRateLimitPolicy([this.rule])
    this.#meter = createTokenLimitPolicy([this.rule])
    this.#facts = Array.from({ length: KEY_COUNTS[name] }, (_, at) => factsOf(at))
  }

  /** One request: checked, and settled where that is needed. */
  once(): void {
    const { exchange } = this
    exchange.enforcement.allowance = null
    if (this.#case === 'headers') this.#allowed()
    else if (this.#case === 'requests') this.#checked()
    else this.#settled()
  }

  #checked(): void {
    if (this.#policy.request?.(this.exchange) !== undefined) throw new Error('refused')
  }

  /** The check and its headers. */
  #allowed(): void {
    this.#checked()
    this.#policy.response?.(this.exchange, this.#head)
  }

  #settled(): void {
    const { exchange } = this
    exchange.enforcement.charges = []
    exchange.facts = this.#facts[this.#at]!
    this.#at = (this.#at + STEP) % this.#facts.length
    if (this.#meter.admit(exchange, ESTIMATE) !== undefined) throw new Error('refused')
    for (const charge of exchange.enforcement.charges) charge.settle(COST)
  }
}

/** A rule with as many keys as it keeps; `others` replace them. */
export class KeyRing {
  readonly rule = ruleOf(ENTRIES.keyed)
  readonly #exchange = exchangeOf()

  fill(from: number, count: number): void {
    const meter = createTokenLimitPolicy([this.rule])
    for (let at = from; at < from + count; at++) {
      this.#exchange.enforcement.charges = []
      this.#exchange.facts = factsOf(at)
      if (meter.admit(this.#exchange, ESTIMATE) !== undefined) throw new Error('refused')
    }
  }
}

/** As long as a UUID, which most issuers use. */
function factsOf(at: number): ExchangeFacts {
  const sub = `00000000-0000-4000-8000-${at.toString(16).padStart(12, '0')}`
  return { jwt: new Map([['sub', sub]]) }
}

function ruleOf(entry: object): RateLimitRule {
  const backends = [{ ai: { name: 'perf', provider: { mock: {} } } }]
  const policies = { rateLimit: { local: [entry] } }
  const text = JSON.stringify({
    gateways: { default: { port: 3000 } },
    routes: [{ policies, backends }],
  })
  const { gateways } = parseConfig(text, { file: 'perf.yaml', env: {} })
  const [config] = gateways[0]?.listeners[0]?.routes[0]?.limits ?? []
  if (config === undefined) throw new Error('the configuration has no limit')
  return new LimitRegistry().ruleFor('perf', config)
}

function never(): never {
  throw new Error('limits asked alone must not come here')
}

const CLIENT: ExchangeClient = { sendInterim: never, respond: never, cut: never, bytesWritten: 0 }
const STEPS = { answer: never, fail: never, settle: never } as unknown as ExchangeHandler

function exchangeOf(): Exchange {
  const bytes = Buffer.from('POST /v1/chat/completions HTTP/1.1\r\nhost: bench.test\r\n\r\n')
  const head = parseRequestHead(bytes, 0, bytes.length, { maxHeadBytes: 65_536, maxHeaders: 128 })
  if (head === null) throw new Error('the request head is incomplete')
  const source = { address: '127.0.0.1', port: 1, label: '127.0.0.1:1', secure: false }
  return new Exchange(source, head, EMPTY_BODY, CLIENT, STEPS)
}
