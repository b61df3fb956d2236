// Shared by the specs of remote limits: a policy and a meter from configuration text, and exchanges to run them on.

import type { ExchangeFacts } from '../../../lib/core/facts.ts'
import type { EndpointAddress } from '../../../lib/config/config-types.ts'
import { Exchange } from '../../../lib/core/exchange.ts'
import { BytesBody, buildResponseHead } from '../../../lib/core/replies.ts'
import type {
  TokenLimitPolicy,
  Policy,
  Reply,
  ExchangeHandler,
  Verdict,
} from '../../../lib/core/types.ts'
import {
  createRemoteRateLimitPolicy,
  createRemoteTokenLimitPolicy,
} from '../../../lib/enforce/limit/remote-limit.ts'
import { CostHistory } from '../../../lib/enforce/limit/learned-costs.ts'
import { RateLimitService } from '../../../lib/enforce/limit/rate-limit-service.ts'
import { admit } from '../../../lib/enforce/run-policies.ts'
import { ungatedConfig, routeText, firstListener } from '../../support/config.ts'
import { deadline } from '../../support/deadline.ts'
import { contentOf, requestOf } from '../../support/exchange-of.ts'
import { estimateFor } from '../../support/llm/estimates.ts'
import { Lines } from '../../support/rls/lines.ts'

/** One gateway: its policy, its meter and its connection to the service. */
export class Limited {
  readonly policy: Policy
  readonly meter: TokenLimitPolicy
  readonly service: RateLimitService
  readonly log = new Lines()

  /** `fields` is YAML in flow form: descriptors and other fields of the policy. */
  constructor(endpoint: EndpointAddress, fields: string) {
    // Longer than by default: machines that run specs are busy.
    const timeout = fields.includes('timeout:') ? '' : 'timeout: 5s, '
    const host = endpoint.kind === 'tcp' ? `${endpoint.host}:${endpoint.port}` : endpoint.path
    const text = routeText(
      `backends: [{ host: "a:1" }], policies: { remoteRateLimit: { host: "${host}", domain: d, ${timeout}${fields} } }`,
    )
    const { remoteRateLimit } = firstListener(ungatedConfig(text)).routes[0]!.policies
    this.service = new RateLimitService(endpoint, this.log)
    this.policy = createRemoteRateLimitPolicy(remoteRateLimit!, this.service, this.log)
    const costs = new CostHistory('one')
    this.meter = createRemoteTokenLimitPolicy(
      remoteRateLimit!,
      { service: this.service, costs },
      this.log,
    )
  }

  close(): void {
    this.service.close()
  }

  /** The result of a request: `pass`, or the status and the body of a refusal. */
  async request(exchange: Exchange): Promise<string> {
    return said(exchange, this, this.policy.request!(exchange))
  }

  async admit(exchange: Exchange, estimate: number): Promise<string> {
    return said(exchange, this, this.meter.admit(exchange, estimateFor(estimate)))
  }

  /** The headers of a backend response after the policy. */
  answerOf(exchange: Exchange, fields: [string, string][] = []): Record<string, string> {
    const head = buildResponseHead(200, fields)
    this.policy.response!(exchange, head)
    return Object.fromEntries(head.entries())
  }
}

/** The headers of a refusal after the policy. */
export const REFUSED = new WeakMap<Exchange, Record<string, string>>()

async function said(exchange: Exchange, limited: Limited, verdict: Verdict): Promise<string> {
  const reply: Reply | undefined = await deadline(Promise.resolve(verdict), 30_000, 'a verdict')
  if (reply === undefined) return 'pass'
  limited.policy.response!(exchange, reply.head)
  const { date: _date, ...fields } = Object.fromEntries(reply.head.entries())
  REFUSED.set(exchange, fields)
  return `${reply.head.status} ${contentOf(reply)}`
}

/** Runs the policies of `choice` when the body is known, and does nothing else. */
const IDLE: ExchangeHandler = {
  serve() {},
  admit: (exchange, estimate) => admit(exchange, exchange.choice.tokenPolicies, estimate),
  onReply() {},
  onFailure() {},
  onSettled() {},
}
const never = (): never => {
  throw new Error('not here')
}

export function exchangeFor(facts: ExchangeFacts | null, ...lines: string[]): Exchange {
  const request = requestOf('POST / HTTP/1.1', 'host: a', ...lines)
  const source = { address: '127.0.0.1', port: 1, label: '127.0.0.1:1', secure: false }
  const client = { bytesWritten: 0, sendInterim: never, respond: never, cut: never }
  const exchange = new Exchange(source, request, new BytesBody(Buffer.alloc(0)), client, IDLE)
  exchange.facts = facts
  return exchange
}

/** An exchange with token claims. */
export function of(sub: string, ...lines: string[]): Exchange {
  return exchangeFor({ jwt: new Map([['sub', sub]]) }, ...lines)
}
