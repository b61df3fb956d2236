// Shapes of rate limits: local limits in this process, and limits of a rate limit service.

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

const MAX_ENTRIES = 16
const AMOUNT = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

const UNITS = { Seconds: 1000, Minutes: 60_000, Hours: 3_600_000 } as const

/** An entry of spec.md §2.6. Its key is compiled later, because an invalid key does not invalidate a resource. */
const localEntry = z
  .strictObject({
    requests: AMOUNT.optional().describe('Requests allowed per unit; set either this or `tokens`.'),
    tokens: AMOUNT.optional().describe(
      'LLM tokens allowed per unit; set either this or `requests`.',
    ),
    unit: z.enum(['Seconds', 'Minutes', 'Hours']).describe('Length of the window.'),
    burst: z
      .int()
      .min(0)
      .optional()
      .describe('Additional requests above the limit; only with `requests`.'),
    key: nonEmptyText
      .meta({
        description: 'CEL expression; each of its values gets its own bucket.',
        format: 'cel',
      })
      .optional(),
  })
  .superRefine(({ requests, tokens, burst }, context) => {
    const refuse = (message: string, path: string[] = []): void =>
      context.addIssue({ code: 'custom', message, path })
    if ((requests === undefined) === (tokens === undefined)) {
      const got = requests === undefined ? 'none' : 'requests and tokens'
      refuse(`got ${got}, expected exactly one of 'requests', 'tokens'`)
    } else if (burst !== undefined && requests === undefined)
      refuse('got burst with tokens, expected it only with requests', ['burst'])
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
  .max(MAX_ENTRIES, `got too many entries, expected at most ${MAX_ENTRIES}`)
  .describe('Limits that are counted in this process; a request must pass every entry.')

/** An entry of `localRateLimit`, with the field names of a token bucket. */
const bucket = z
  .strictObject({
    maxTokens: AMOUNT.describe('Capacity of the bucket.'),
    tokensPerFill: AMOUNT.describe('Amount that is added in each interval.'),
    fillInterval: positiveDuration.describe('Length of the interval.'),
    type: z
      .enum(['requests', 'tokens'])
      .default('requests')
      .describe('Whether requests or LLM tokens are counted.'),
    key: nonEmptyText
      .meta({
        description: 'CEL expression; each of its values gets its own bucket.',
        format: 'cel',
      })
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
  .max(MAX_ENTRIES, `got too many entries, expected at most ${MAX_ENTRIES}`)
  .describe('Limits that are counted in this process, as token buckets.')

const service = {
  host: endpoint.describe('Address of the rate limit service: `host:port`.'),
  domain: nonEmptyText.describe('Domain of the rules in the service.'),
  timeout: optionalOrNull(positiveDuration).describe(
    'Time to wait for the service; the default is 500ms.',
  ),
  ...unsupportedFields('service', 'backend', 'backendRef', 'url', 'policies', 'conditional'),
}

const COSTS = {
  cost: optionalOrNull(expressionAt('transformation')).describe(
    'CEL expression for the cost of one request.',
  ),
  limitOverride: optionalOrNull(expressionAt('transformation')).describe(
    'CEL expression for a limit that overrides that of the service, such as {"unit": "minute", "requestsPerUnit": 5}.',
  ),
}

const remoteDescriptor = z.strictObject({
  entries: z
    .array(
      z.strictObject({
        key: nonEmptyText.describe('Name of the entry.'),
        value: expressionAt('transformation').describe(
          'CEL expression for the value of the entry.',
        ),
      }),
    )
    .min(1)
    .describe('Entries of the descriptor; together they select one counter.'),
  type: z
    .enum(['requests', 'tokens'])
    .default('requests')
    .describe('Whether requests or LLM tokens are counted.'),
  ...COSTS,
})

export const REMOTE_RATE_LIMIT = z
  .strictObject({
    ...service,
    descriptors: z
      .array(remoteDescriptor)
      .min(1)
      .describe('Descriptors that are sent, with keys and CEL values.'),
    failureMode: z
      .enum(['failClosed', 'failOpen'])
      .default('failClosed')
      .describe('Whether requests are refused or allowed when the service is unavailable.'),
  })
  .transform((fields): RemoteLimitConfig => {
    const { host, domain, timeout, failureMode } = fields
    const descriptors = fields.descriptors.map(({ type, ...rest }) => ({ counts: type, ...rest }))
    return { endpoint: host, domain, timeout, failureMode, descriptors }
  })
  .describe('Limits of a service that implements the Envoy rate limit protocol.')

const globalDescriptor = z.strictObject({
  entries: z
    .array(
      z.strictObject({
        name: nonEmptyText.describe('Name of the entry.'),
        expression: expressionAt('transformation').describe(
          'CEL expression for the value of the entry.',
        ),
      }),
    )
    .min(1)
    .describe('Entries of the descriptor; together they select one counter.'),
  unit: z
    .enum(['Requests', 'Tokens'])
    .default('Requests')
    .describe('Whether requests or LLM tokens are counted.'),
  ...COSTS,
})

/** The same limit as `remoteRateLimit`, with the field names of `rateLimit`. */
const GLOBAL_LIMIT = z
  .strictObject({
    ...service,
    descriptors: z
      .array(globalDescriptor)
      .min(1)
      .describe('Descriptors that are sent, with names and CEL values.'),
    failureMode: z
      .enum(['FailClosed', 'FailOpen'])
      .default('FailClosed')
      .describe('Whether requests are refused or allowed when the service is unavailable.'),
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
  .describe(
    'Limits of a service that implements the Envoy rate limit protocol, with the field names of `local`.',
  )

export const RATE_LIMIT = z
  .strictObject({ local: LOCAL_LIMITS.optional(), global: GLOBAL_LIMIT.optional() })
  .refine(({ local, global }) => local ?? global, "got none, expected 'local' or 'global'")
  .describe('Limits for requests or LLM tokens.')
