// remoteRateLimit: limits counted by a service that speaks the Envoy rate limit protocol, for all replicas together.
// Requests are asked about before a body is looked at, tokens when as much of it is known as descriptors need.

import { View } from '../base/cel/view.ts'
import type { RemoteDescriptor, RemoteLimitConfig } from '../base/config/limit-types.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Log } from '../base/log/log.ts'
import { textReply } from '../base/reply.ts'
import type { Trace } from '../base/trace/events.ts'
import type { Meter, Policy, Reply } from '../base/types.ts'
import { isFailure } from './remote-limit/ask.ts'
import type { Asked } from './remote-limit/ask.ts'
import { admissionOf, RemoteCharge } from './remote-limit/charge.ts'
import type { Taken } from './remote-limit/charge.ts'
import { CALL_TIMEOUT_MS } from './remote-limit/client.ts'
import type { RateLimitService } from './remote-limit/client.ts'
import type { Descriptor } from './remote-limit/codec.ts'
import { consult } from './remote-limit/consult.ts'
import { counterOf, requestDescriptorOf } from './remote-limit/descriptors.ts'
import { dress, refusalOf, surface } from './remote-limit/surface.ts'

/** Needed also where only tokens are limited, for what the service says on answers. */
export function remoteLimit(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Policy {
  const counting = config.descriptors.filter(({ counts }) => counts === 'requests')
  return {
    kind: 'remoteRateLimit',
    request(exchange) {
      const descriptors = applying(counting, exchange, log, requestDescriptorOf)
      if (descriptors.length === 0) {
        exchange.trace?.skip('no descriptor of requests applies')
        return undefined
      }
      return decide(exchange, { config, counts: 'requests', service, descriptors })
    },
    response: dress,
  }
}

/**
 * At admission each counter is charged `TAKEN` and no estimate: the protocol has no way to give back what a request did not
 * use. With nothing left the service says no; the request that goes beyond the budget passes, and the next does not.
 */
export function remoteTokenLimits(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Meter {
  const counting = config.descriptors.filter(({ counts }) => counts === 'tokens')
  return {
    admit(exchange) {
      const counters = applying(counting, exchange, log, counterOf)
      if (counters.length === 0) return undefined
      const descriptors = counters.map(admissionOf)
      const matter = { config, counts: 'tokens', service, descriptors } as const
      return decide(exchange, matter, (taken) => {
        const charge = new RemoteCharge(service, exchange, {
          domain: config.domain,
          counters,
          taken,
        })
        exchange.charges = [...exchange.charges, charge]
      })
    },
  }
}

/** Descriptors without a value do not apply; others do all the same. */
function applying<Made>(
  descriptors: readonly RemoteDescriptor[],
  exchange: Exchange,
  log: Log,
  make: (descriptor: RemoteDescriptor, view: View) => Made | null,
): Made[] {
  if (descriptors.length === 0) return []
  const view = new View(exchange, exchange.facts ?? undefined)
  const found: Made[] = []
  for (const descriptor of descriptors) {
    const made = make(descriptor, view)
    if (made !== null) found.push(made)
    else if (log.allows('debug', 'limits'))
      log.line('debug', 'limits', 'descriptor without a value', ['entries', namesOf(descriptor)])
  }
  return found
}

function namesOf({ entries }: RemoteDescriptor): string {
  return entries.map(({ key }) => key).join(',')
}

interface Matter {
  readonly config: RemoteLimitConfig
  readonly counts: RemoteDescriptor['counts']
  readonly service: RateLimitService
  readonly descriptors: readonly Descriptor[]
}

/** `pass` hears whether something was taken: a service that does not answer may be done without. */
async function decide(
  exchange: Exchange,
  { config, counts, service, descriptors }: Matter,
  pass: (taken: Taken) => void = () => {},
): Promise<Reply | undefined> {
  const { domain, failureMode, timeout } = config
  const ms = timeout ?? CALL_TIMEOUT_MS
  // What was let pass as free may be charged when its answer tells of a cost; nobody waits for it then.
  const isLate = exchange.isAnswered
  const request = { domain, descriptors }
  const asked = isLate
    ? await service.ask(request, ms).answer
    : await consult(exchange, service, request, ms)
  // The client may have left in the meantime, or was told that it took too long.
  if (exchange.isAnswered && !isLate) return undefined
  if (exchange.trace !== null) tell(exchange.trace, config, counts, asked)
  if (isFailure(asked)) {
    service.decisions.failed++
    if (failureMode === 'failClosed') {
      exchange.refusal = 'rate_limit_unavailable'
      return textReply(500, 'rate limit failed')
    }
    pass('nothing')
    return undefined
  }
  service.decisions[asked.code === 'over' ? 'deny' : 'allow']++
  if (asked.code === 'over') return refusalOf(exchange, asked)
  surface(exchange, asked)
  pass('something')
  return undefined
}

/** What the service decided, descriptor by descriptor, for whoever watches. */
function tell(
  trace: Trace,
  { domain: rule, failureMode }: RemoteLimitConfig,
  counts: RemoteDescriptor['counts'],
  asked: Asked,
): void {
  const about = { type: 'rateLimit', rule, counts, bucket: null } as const
  if (isFailure(asked)) {
    const decision = failureMode === 'failOpen' ? 'allow' : 'deny'
    const nothing = { limit: null, remaining: null, reset: null }
    trace.emit({ ...about, decision, ...nothing, error: asked.reason }, { severity: 'error' })
    return
  }
  for (const { code, limit, remaining, reset } of asked.statuses) {
    const decision = code === 'over' ? 'deny' : 'allow'
    const severity = code === 'over' ? 'error' : 'success'
    trace.emit({ ...about, decision, limit, remaining, reset, error: null }, { severity })
  }
}
