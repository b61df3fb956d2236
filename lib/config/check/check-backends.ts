// Checks `backends` of routes and of the top level, and MCP backends with their targets.

import { findExecutable } from '../../core/executables.ts'
import { nearest } from '../../text/nearest-name.ts'
import type { McpConfig, McpTarget } from '../backend-types.ts'
import type { ConfigPath } from '../config-error.ts'
import type { BackendConfig, BackendPolicies } from '../config-types.ts'
import type { BackendShape, ConfigParts } from '../shape/document-shapes.ts'
import type { McpShape, TargetShape } from '../shape/mcp-shapes.ts'
import type { BackendPoliciesShape } from '../shape/policy-shapes.ts'
import { buildBackendAuth, checkBackendTls, SYSTEM_TLS } from './check-backend-policies.ts'
import type { CheckContext } from './check-context.ts'
import { checkAiBackend, refuseUnusedAiPolicy } from './check-llm.ts'
import { buildTransformations, checkBackendPolicies, mapOrNull } from './check-policies.ts'

type WithoutKey<Config> = Config extends unknown ? Omit<Config, 'key' | 'weight'> : never

/** A backend without the key and weight that it gets in a route. */
export type UnattachedBackend = WithoutKey<BackendConfig>

/** Top-level backends by name; undefined for a backend with problems. */
export type NamedBackends = ReadonlyMap<string, UnattachedBackend | undefined>

export function checkNamedBackends(
  context: CheckContext,
  { backends, backendNames }: ConfigParts,
): NamedBackends {
  const found = new Map<string, UnattachedBackend | undefined>()
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
    found.set(shape.name, checkBackendTarget(context, path, shape))
  }
  return found
}

/** Undefined for an entry with problems, which are already reported. */
export function checkBackend(
  context: CheckContext,
  path: ConfigPath,
  shape: BackendShape,
  named: NamedBackends,
): UnattachedBackend | undefined {
  if (shape.backend === undefined) return checkBackendTarget(context, path, shape)
  const target = named.get(shape.backend)
  if (!named.has(shape.backend)) {
    const suggestion = nearest(shape.backend, [...named.keys()])
    const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
    context.problem([...path, 'backend'], `unknown backend '${shape.backend}'${hint}`)
  }
  if (target === undefined || shape.policies === undefined) return target
  const reader = target.kind === 'ai' ? 'ai' : 'others'
  const policies = checkPoliciesOfBackend(context, path, shape.policies, reader)
  if (target.kind !== 'host') refuseHttpPolicy(context, path, policies)
  return { ...target, policies }
}

function checkBackendTarget(
  context: CheckContext,
  path: ConfigPath,
  shape: Pick<BackendShape, 'host' | 'mcp' | 'ai' | 'policies'>,
): UnattachedBackend | undefined {
  const { host, mcp, ai } = shape
  const policies = checkPoliciesOfBackend(
    context,
    path,
    shape.policies ?? {},
    ai === undefined ? 'others' : 'ai',
  )
  if (host !== undefined) return { kind: 'host', endpoint: host, policies }
  refuseHttpPolicy(context, path, policies)
  if (mcp !== undefined) {
    return { kind: 'mcp', mcp: checkMcpBackend(context, [...path, 'mcp'], mcp), policies }
  }
  if (ai === undefined) return undefined
  return { kind: 'ai', ai: checkAiBackend(context, [...path, 'ai'], ai), policies }
}

function checkPoliciesOfBackend(
  context: CheckContext,
  path: ConfigPath,
  shape: BackendPoliciesShape,
  reader: 'ai' | 'others',
): BackendPolicies {
  const policies = checkBackendPolicies(context, [...path, 'policies'], shape)
  if (reader === 'others')
    refuseUnusedAiPolicy(context, [...path, 'policies', 'ai'], policies.ai, reader)
  return policies
}

function refuseHttpPolicy(
  context: CheckContext,
  path: ConfigPath,
  { http }: BackendPolicies,
): void {
  if (http !== null)
    context.problem([...path, 'policies', 'http'], 'got http, expected it only with host', 'key')
}

/** Checks that target names are unique, and sets the defaults of each target. */
export function checkMcpBackend(
  context: CheckContext,
  path: ConfigPath,
  shape: McpShape,
): McpConfig {
  const { targets, statefulMode, prefixMode, failureMode, dnsRebindingProtection } = shape
  targets.forEach(({ name }, at) => {
    if (targets.findIndex((other) => other.name === name) !== at)
      context.problem(
        [...path, 'targets', at, 'name'],
        `got a second target named '${name}', expected names to differ`,
      )
  })
  return {
    targets: targets.map((target, at) => checkMcpTarget(context, [...path, 'targets', at], target)),
    statefulMode,
    prefixMode,
    failureMode,
    dnsRebindingProtection,
  }
}

function checkMcpTarget(context: CheckContext, path: ConfigPath, shape: TargetShape): McpTarget {
  const { name, stdio, mcp, sse, policies = {} } = shape
  if (stdio !== undefined) {
    const { cmd, args, env, clear_env: clearEnv, inheritEnv } = stdio
    if (clearEnv && inheritEnv)
      context.problem(
        [...path, 'stdio', 'inheritEnv'],
        'got true next to clear_env: true, expected at most one of them',
      )
    const searchPath = env['PATH']?.reveal() ?? process.env['PATH'] ?? ''
    if (findExecutable(cmd, searchPath) === undefined)
      context.warn(
        [...path, 'stdio', 'cmd'],
        cmd.includes('/')
          ? 'is not an executable file: the target cannot start'
          : 'is not found on PATH: the target cannot start',
      )
    return { name, kind: 'stdio', cmd, args, env, clearEnv, inheritEnv }
  }
  const kind = mcp === undefined ? 'sse' : 'mcp'
  const { secure, host, port, path: remotePath } = (mcp ?? sse)!
  const { backendTLS, backendAuth, requestHeaderModifier, transformations } = policies
  const tls = mapOrNull(backendTLS, (one) =>
    checkBackendTls(context, [...path, 'policies', 'backendTLS'], one),
  )
  if (transformations?.response !== undefined)
    context.problem(
      [...path, 'policies', 'transformations', 'response'],
      'got response, expected request only: clients get the messages of a target, not its headers',
    )
  return {
    name,
    kind,
    host,
    port,
    path: remotePath ?? `/${kind}`,
    tls: tls ?? (secure ? SYSTEM_TLS : null),
    auth: mapOrNull(backendAuth, buildBackendAuth),
    requestHeaderModifier: requestHeaderModifier ?? null,
    transformations: mapOrNull(transformations, buildTransformations),
  }
}
