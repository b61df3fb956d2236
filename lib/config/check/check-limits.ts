// Inline limits of a route, whichever names they were written with, with their keys compiled.

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
  const written: [ConfigPath, LimitShape][] = []
  for (const [at, limit] of (rateLimit?.local ?? []).entries())
    written.push([[...path, 'rateLimit', 'local', at], limit])
  for (const [at, limit] of localRateLimit.entries())
    written.push([[...path, 'localRateLimit', at], limit])
  return written.map(([place, shape]) => {
    const key = [...place, 'key']
    const limit = buildLimit({ name: formatConfigPath(place), resource: null }, shape, (message) =>
      context.problem(key, message),
    )
    // §8: requests are counted before a body is read.
    if (limit.counts === 'requests' && limit.key?.reads('llm') === true)
      context.warn(
        key,
        'reads llm, which is not there yet when requests are counted: one bucket for all',
      )
    return limit
  })
}

/** Where no LLM answers, a limit of tokens would never hold anyone back. */
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
          'got a limit of tokens, expected one of requests: only answers of LLMs have tokens, and no backend here is one',
          'key',
        )
    })
}

/** A key that cannot be compiled leaves one bucket for all, so that the limit holds at least. */
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
