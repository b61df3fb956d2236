// Checks inline rate limits of a route in both config forms, and compiles their keys.

import { formatConfigPath } from '../config-error.ts'
import type { ConfigPath } from '../config-error.ts'
import { tryCompile } from '../expression-field.ts'
import type { LimitConfig, LimitShape } from '../policy-types.ts'
import type { PoliciesShape } from '../shape/policy-shapes.ts'
import type { CheckContext } from './check-context.ts'

export function checkLimits(
  context: CheckContext,
  path: ConfigPath,
  shape: PoliciesShape,
): LimitConfig[] {
  const { rateLimit, localRateLimit = [] } = shape
  const shapes: [ConfigPath, LimitShape][] = []
  for (const [at, limit] of (rateLimit?.local ?? []).entries())
    shapes.push([[...path, 'rateLimit', 'local', at], limit])
  for (const [at, limit] of localRateLimit.entries())
    shapes.push([[...path, 'localRateLimit', at], limit])
  return shapes.map(([limitPath, shape]) => {
    const keyPath = [...limitPath, 'key']
    const origin = { name: formatConfigPath(limitPath), resource: null }
    const limit = buildLimit(origin, shape, (message) => context.problem(keyPath, message))
    // §8: requests are counted before the body is parsed.
    if (limit.counts === 'requests' && limit.key?.reads('llm') === true)
      context.warn(
        keyPath,
        'reads llm, which is not known when requests are counted: all requests share one bucket',
      )
    return limit
  })
}

/** Without an LLM backend a token limit would never refuse a request. */
export function refuseTokenLimits(
  context: CheckContext,
  path: ConfigPath,
  shape: PoliciesShape,
): void {
  const { rateLimit, localRateLimit = [], remoteRateLimit } = shape
  const lists: [ConfigPath, string, readonly { readonly counts: LimitShape['counts'] }[]][] = [
    [['rateLimit', 'local'], 'tokens', rateLimit?.local ?? []],
    [['rateLimit', 'global', 'descriptors'], 'unit', rateLimit?.global?.descriptors ?? []],
    [['localRateLimit'], 'type', localRateLimit],
    [['remoteRateLimit', 'descriptors'], 'type', remoteRateLimit?.descriptors ?? []],
  ]
  for (const [list, field, limits] of lists)
    limits.forEach(({ counts }, at) => {
      if (counts === 'tokens')
        context.problem(
          [...path, ...list, at, field],
          'got a token limit, expected a request limit: only LLM responses have tokens, and no backend here is an LLM',
          'key',
        )
    })
}

/** If the key cannot be compiled, the limit uses one shared bucket, so that it is still enforced. */
export function buildLimit(
  origin: Pick<LimitConfig, 'name' | 'resource'>,
  { key, ...limit }: LimitShape,
  fail: (message: string) => void,
): LimitConfig {
  if (key === null) return { ...origin, ...limit, key }
  const compiled = tryCompile(key, limit.counts === 'tokens' ? 'tokenLimitKey' : 'requestLimitKey')
  if (typeof compiled !== 'string') return { ...origin, ...limit, key: compiled }
  fail(`local rate limit key is not a valid CEL expression: ${compiled}`)
  return { ...origin, ...limit, key: null }
}
