// Inline limits of a route, whichever names they were written with, with their keys compiled.

import { pathText } from '../error.ts'
import type { Path } from '../error.ts'
import { compileAt } from '../expression.ts'
import type { LimitConfig, LimitShape } from '../limit-types.ts'
import type { PoliciesShape } from '../shape/policies.ts'
import type { Context } from './context.ts'

export function limitsOf(context: Context, path: Path, shape: PoliciesShape): LimitConfig[] {
  const { rateLimit, localRateLimit = [] } = shape
  const written: [Path, LimitShape][] = []
  for (const [at, limit] of (rateLimit?.local ?? []).entries())
    written.push([[...path, 'rateLimit', 'local', at], limit])
  for (const [at, limit] of localRateLimit.entries())
    written.push([[...path, 'localRateLimit', at], limit])
  return written.map(([place, limit]) =>
    limitOf(pathText(place), limit, (message) => context.problem([...place, 'key'], message)),
  )
}

/** A key that cannot be compiled leaves one bucket for all, so that the limit holds at least. */
export function limitOf(
  name: string,
  { key, ...limit }: LimitShape,
  fail: (message: string) => void,
): LimitConfig {
  if (key === null) return { name, ...limit, key }
  const compiled = compileAt(key, limit.counts === 'tokens' ? 'tokenLimitKey' : 'requestLimitKey')
  if (typeof compiled !== 'string') return { name, ...limit, key: compiled }
  fail(`local rate limit key is not a valid CEL expression: ${compiled}`)
  return { name, ...limit, key: null }
}
