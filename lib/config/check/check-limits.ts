// Checks inline rate limits of a route in both config forms, and compiles their keys.

import { formatConfigPath } from '../config-error.ts'
import type { ConfigPath } from '../config-error.ts'
import { tryCompile } from '../expression-field.ts'
import type { LimitConfig, LimitShape } from '../policy-types.ts'
import { EXPRESSION_LOCATIONS } from '../../expressions/context-names.ts'
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
    return buildLimit(origin, shape, (kind, message) => {
      if (kind === 'invalid') context.problem(keyPath, message)
      else context.warn(keyPath, message)
    })
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

/** `invalid`: the key cannot be compiled. `valueless`: it reads a value that is not known when the limit is checked. */
type KeyProblem = 'invalid' | 'valueless'

/** A limit with such a key uses one shared bucket, so that it is still enforced (spec.md §8). */
export function buildLimit(
  origin: Pick<LimitConfig, 'name' | 'resource'>,
  { key, ...limit }: LimitShape,
  report: (kind: KeyProblem, message: string) => void,
): LimitConfig {
  if (key === null) return { ...origin, ...limit, key }
  const { counts } = limit
  const location = counts === 'tokens' ? 'tokenLimitKey' : 'requestLimitKey'
  const compiled = tryCompile(key, location)
  if (typeof compiled === 'string') {
    report('invalid', `local rate limit key is not a valid CEL expression: ${compiled}`)
    return { ...origin, ...limit, key: null }
  }
  const names = (EXPRESSION_LOCATIONS[location].valueless ?? []).filter((name) =>
    compiled.reads(name),
  )
  if (names.length > 0)
    report(
      'valueless',
      `reads ${names.join(' and ')}, not known when ${counts} are counted: all requests share one bucket`,
    )
  return { ...origin, ...limit, key: compiled }
}
