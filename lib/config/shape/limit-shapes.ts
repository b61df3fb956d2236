// What users write to limit how much: in this process, or by a rate limit service.

import { z } from 'zod'
import type { LimitShape, RemoteLimitConfig } from '../policy-types.ts'
import {
  endpoint,
  expressionAt,
  nonEmptyText,
  optionalOrNull,
  positiveDuration,
  unsupportedFields,
} from './value-shapes.ts'

const MOST_ENTRIES = 16
const AMOUNT = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

const UNITS = { Seconds: 1000, Minutes: 60_000, Hours: 3_600_000 } as const

/** One entry as spec.md §2.6 writes it; its key is compiled apart, as one bad key does not spoil a resource. */
const localEntry = z
  .strictObject({
    requests: AMOUNT.optional().describe('Requests allowed per unit'),
    tokens: AMOUNT.optional().describe('LLM tokens allowed per unit; exactly one of the two'),
    unit: z.enum(['Seconds', 'Minutes', 'Hours']).describe('The window'),
    burst: z.int().min(0).optional().describe('Requests above the limit; only with `requests`'),
    key: nonEmptyText
      .meta({ description: 'CEL: each value has a bucket of its own', format: 'cel' })
      .optional(),
  })
  .superRefine(({ requests, tokens, burst }, context) => {
    const refuse = (message: string, path: string[] = []): void =>
      context.addIssue({ code: 'custom', message, path })
    if ((requests === undefined) === (tokens === undefined)) {
      const got = requests === undefined ? 'none' : 'requests and tokens'
      refuse(`got ${got}, expected exactly one of 'requests', 'tokens'`)
    } else if (burst !== undefined && requests === undefined)
      refuse('got burst beside tokens, expected it only with requests', ['burst'])
  })
  .transform(({ requests, tokens, unit, burst = 0, key }): LimitShape => ({
    counts: tokens === undefined ? 'requests' : 'tokens',
    amount: requests ?? tokens ?? 0,
    most: (requests ?? tokens ?? 0) + burst,
    interval: UNITS[unit],
    key: key ?? null,
  }))

export const LOCAL_LIMITS = z
  .array(localEntry)
  .min(1)
  .max(MOST_ENTRIES, `got too many entries, expected at most ${MOST_ENTRIES}`)
  .describe('Counted in this process; a request must pass every entry')

/** The same by the reference's names. */
const bucket = z
  .strictObject({
    maxTokens: AMOUNT.describe('What a full bucket holds'),
    tokensPerFill: AMOUNT.describe('What each interval adds'),
    fillInterval: positiveDuration.describe('The window'),
    type: z.enum(['requests', 'tokens']).default('requests').describe('What is counted'),
    key: nonEmptyText
      .meta({ description: 'CEL: each value has a bucket of its own', format: 'cel' })
      .optional(),
  })
  .refine(({ maxTokens, tokensPerFill }) => maxTokens >= tokensPerFill, {
    error: 'max tokens cannot be less than the refill amount',
    path: ['maxTokens'],
  })
  .transform(({ maxTokens, tokensPerFill, fillInterval, type, key }): LimitShape => ({
    counts: type,
    amount: tokensPerFill,
    most: maxTokens,
    interval: fillInterval,
    key: key ?? null,
  }))

export const LOCAL_RATE_LIMIT = z
  .array(bucket)
  .min(1)
  .max(MOST_ENTRIES, `got too many entries, expected at most ${MOST_ENTRIES}`)
  .describe('Limits counted in this process, as buckets')

const service = {
  host: endpoint.describe('The rate limit service: `host:port`'),
  domain: nonEmptyText.describe('The domain its rules are for'),
  timeout: optionalOrNull(positiveDuration).describe(
    'How long an answer may take; 500ms if not set',
  ),
  ...unsupportedFields('service', 'backend', 'backendRef', 'url', 'policies', 'conditional'),
}

const COSTS = {
  cost: optionalOrNull(expressionAt('transformation')).describe('CEL: what one request counts'),
  limitOverride: optionalOrNull(expressionAt('transformation')).describe(
    'CEL: a limit instead of that of the service, as {"unit": "minute", "requestsPerUnit": 5}',
  ),
}

const remoteDescriptor = z.strictObject({
  entries: z
    .array(
      z.strictObject({
        key: nonEmptyText.describe('Name of the entry'),
        value: expressionAt('transformation').describe('CEL for its value'),
      }),
    )
    .min(1)
    .describe('All of them make one counter'),
  type: z.enum(['requests', 'tokens']).default('requests').describe('What is counted'),
  ...COSTS,
})

/** Reference names. */
export const REMOTE_RATE_LIMIT = z
  .strictObject({
    ...service,
    descriptors: z.array(remoteDescriptor).min(1).describe('What is sent: keys and CEL values'),
    failureMode: z
      .enum(['failClosed', 'failOpen'])
      .default('failClosed')
      .describe('What happens without the service'),
  })
  .transform((written): RemoteLimitConfig => {
    const { host, domain, timeout, failureMode } = written
    const descriptors = written.descriptors.map(({ type, ...rest }) => ({ counts: type, ...rest }))
    return { endpoint: host, domain, timeout, failureMode, descriptors }
  })
  .describe('Limits counted by a service that speaks the Envoy rate limit protocol')

const globalDescriptor = z.strictObject({
  entries: z
    .array(
      z.strictObject({
        name: nonEmptyText.describe('Name of the entry'),
        expression: expressionAt('transformation').describe('CEL for its value'),
      }),
    )
    .min(1)
    .describe('All of them make one counter'),
  unit: z.enum(['Requests', 'Tokens']).default('Requests').describe('What is counted'),
  ...COSTS,
})

/** Names of the policy resource. */
const GLOBAL_LIMIT = z
  .strictObject({
    ...service,
    descriptors: z.array(globalDescriptor).min(1).describe('What is sent: names and CEL values'),
    failureMode: z
      .enum(['FailClosed', 'FailOpen'])
      .default('FailClosed')
      .describe('What happens without the service'),
  })
  .transform(({ host, domain, timeout, failureMode, descriptors }): RemoteLimitConfig => {
    const named = descriptors.map(({ entries, unit, cost, limitOverride }) => ({
      entries: entries.map(({ name, expression: value }) => ({ key: name, value })),
      counts: unit === 'Tokens' ? ('tokens' as const) : ('requests' as const),
      cost,
      limitOverride,
    }))
    const mode = failureMode === 'FailOpen' ? 'failOpen' : 'failClosed'
    return { endpoint: host, domain, timeout, failureMode: mode, descriptors: named }
  })
  .describe('Counted by a service that speaks the Envoy rate limit protocol')

export const RATE_LIMIT = z
  .strictObject({ local: LOCAL_LIMITS.optional(), global: GLOBAL_LIMIT.optional() })
  .refine(({ local, global }) => local ?? global, "got nothing, expected 'local' or 'global'")
  .describe('Limits of requests or LLM tokens')
