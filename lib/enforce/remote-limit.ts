// remoteRateLimit: limits counted by a service that speaks the Envoy rate limit protocol, for all replicas together.
// Requests are asked about before a body is looked at, tokens when as much of it is known as descriptors need.

import { View } from '../base/cel/view.ts'
import type { RemoteDescriptor, RemoteLimitConfig } from '../base/config/limit-types.ts'
import type { Exchange } from '../base/exchange.ts'
import type { Log } from '../base/log.ts'
import { textReply } from '../base/reply.ts'
import type { Meter, Policy, Reply } from '../base/types.ts'
import { isFailure } from './remote-limit/ask.ts'
import { RemoteCharge } from './remote-limit/charge.ts'
import { CALL_TIMEOUT_MS } from './remote-limit/client.ts'
import type { RateLimitService } from './remote-limit/client.ts'
import type { Descriptor, RateLimitAnswer } from './remote-limit/codec.ts'
import { consult } from './remote-limit/consult.ts'
import { counterOf, requestDescriptorOf } from './remote-limit/descriptors.ts'
import { dress, refusalOf, surface, tighten } from './remote-limit/surface.ts'
import { isExhausted, takingOf } from './remote-limit/taking.ts'

/** Needed also where only tokens are limited, for what the service says on answers. */
export function remoteLimit(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Policy {
  const counting = config.descriptors.filter(({ counts }) => counts === 'requests')
  const judge = (exchange: Exchange, answer: RateLimitAnswer | null): Reply | undefined => {
    if (answer?.code === 'over') return refusalOf(exchange, answer)
    if (answer !== null) surface(exchange, answer)
    return undefined
  }
  return {
    kind: 'remoteRateLimit',
    request(exchange) {
      const descriptors = applying(counting, exchange, log, requestDescriptorOf)
      if (descriptors.length === 0) return undefined
      return decide(exchange, { config, service, descriptors }, (answer) => judge(exchange, answer))
    },
    response: dress,
  }
}

/** What was taken at admission is not given back when a request is refused by others: the protocol has no way to. */
export function remoteTokenLimits(
  config: RemoteLimitConfig,
  service: RateLimitService,
  log: Log,
): Meter {
  const counting = config.descriptors.filter(({ counts }) => counts === 'tokens')
  const { domain } = config
  return {
    admit(exchange, estimate) {
      const counters = applying(counting, exchange, log, counterOf)
      if (counters.length === 0) return undefined
      const { descriptors, tokens } = takingOf(counters, estimate)
      return decide(exchange, { config, service, descriptors }, (answer) => {
        if (answer?.code === 'over' && isExhausted(counters, answer))
          return refusalOf(exchange, answer)
        if (answer?.code === 'ok') surface(exchange, answer)
        // It goes beyond the budget, which was not spent yet: what the service says is for one that is refused.
        else if (answer !== null) tighten(exchange, answer.statuses)
        const taken = { domain, counters, tokens: answer === null ? 0 : tokens }
        exchange.charges = [...exchange.charges, new RemoteCharge(service, exchange, taken)]
        return undefined
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
  const applying: Made[] = []
  for (const descriptor of descriptors) {
    const made = make(descriptor, view)
    if (made !== null) applying.push(made)
    else if (log.allows('debug', 'limits'))
      log.line('debug', 'limits', 'descriptor without a value', ['entries', namesOf(descriptor)])
  }
  return applying
}

function namesOf({ entries }: RemoteDescriptor): string {
  return entries.map(({ key }) => key).join(',')
}

interface Matter {
  readonly config: RemoteLimitConfig
  readonly service: RateLimitService
  readonly descriptors: readonly Descriptor[]
}

/** `judge` is given null where there is no answer and requests pass without. */
async function decide(
  exchange: Exchange,
  { config, service, descriptors }: Matter,
  judge: (answer: RateLimitAnswer | null) => Reply | undefined,
): Promise<Reply | undefined> {
  const { domain, failureMode } = config
  const asked = await consult(exchange, service, { domain, descriptors }, CALL_TIMEOUT_MS)
  // The client may have left in the meantime, or was told that it took too long.
  if (exchange.isAnswered) return undefined
  if (!isFailure(asked)) return judge(asked)
  return failureMode === 'failOpen' ? judge(null) : textReply(500, 'rate limit failed')
}
