// `backends` of a route → each resolved to one kind; names stand for those of the top level.

import type { Path } from '../error.ts'
import { nearest } from '../../nearest-name.ts'
import type { BackendShape } from '../shape/backend.ts'
import type { Parts } from '../shape/file.ts'
import type { BackendPoliciesShape } from '../shape/policies.ts'
import type { BackendConfig, BackendPolicies } from '../types.ts'
import { aiOf, refuseUnread } from './ai.ts'
import type { Context } from './context.ts'
import { mcpOf } from './mcp.ts'
import { checkBackendPolicies } from './policies.ts'

type WithoutKey<Config> = Config extends unknown ? Omit<Config, 'key' | 'weight'> : never

/** A backend that no route has yet. */
export type Target = WithoutKey<BackendConfig>

/** By name; undefined for one that was refused. */
export type NamedTargets = ReadonlyMap<string, Target | undefined>

export function namedTargets(context: Context, { backends, backendNames }: Parts): NamedTargets {
  const found = new Map<string, Target | undefined>()
  for (const [index, shape] of backends.entries()) {
    if (shape === undefined) {
      found.set(String(backendNames[index]), undefined)
      continue
    }
    const path = ['backends', index]
    if (found.has(shape.name))
      context.problem(
        [...path, 'name'],
        `got a second backend named '${shape.name}', expected names to differ`,
      )
    found.set(shape.name, targetOf(context, path, shape))
  }
  return found
}

/** Nothing for an entry that was refused; the problem is told already. */
export function backendOf(
  context: Context,
  path: Path,
  shape: BackendShape,
  named: NamedTargets,
): Target | undefined {
  if (shape.backend === undefined) return targetOf(context, path, shape)
  const target = named.get(shape.backend)
  if (!named.has(shape.backend)) {
    const meant = nearest(shape.backend, [...named.keys()])
    const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
    context.problem([...path, 'backend'], `unknown backend '${shape.backend}'${hint}`)
  }
  if (target === undefined || shape.policies === undefined) return target
  const reader = target.kind === 'ai' ? 'ai' : 'others'
  return { ...target, policies: policiesOf(context, path, shape.policies, reader) }
}

function targetOf(
  context: Context,
  path: Path,
  shape: Pick<BackendShape, 'host' | 'mcp' | 'ai' | 'policies'>,
): Target | undefined {
  const { host, mcp, ai } = shape
  const policies = policiesOf(
    context,
    path,
    shape.policies ?? {},
    ai === undefined ? 'others' : 'ai',
  )
  if (host !== undefined) return { kind: 'host', endpoint: host, policies }
  if (mcp !== undefined) {
    return { kind: 'mcp', mcp: mcpOf(context, [...path, 'mcp'], mcp), policies }
  }
  if (ai === undefined) return undefined
  return { kind: 'ai', ai: aiOf(context, [...path, 'ai'], ai), policies }
}

function policiesOf(
  context: Context,
  path: Path,
  shape: BackendPoliciesShape,
  reader: 'ai' | 'others',
): BackendPolicies {
  const policies = checkBackendPolicies(context, [...path, 'policies'], shape)
  if (reader === 'others') refuseUnread(context, [...path, 'policies', 'ai'], policies.ai, reader)
  return policies
}
