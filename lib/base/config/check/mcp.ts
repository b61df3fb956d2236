// MCP backends → targets with different names, each with its defaults.

import type { Path } from '../error.ts'
import type { McpConfig, McpTarget } from '../mcp-types.ts'
import type { McpShape, TargetShape } from '../shape/mcp.ts'
import { backendAuthOf, backendTlsOf, SYSTEM_TLS } from './backend-policies.ts'
import type { Context } from './context.ts'
import { orNull, transformationsOf } from './policies.ts'

export function mcpOf(context: Context, path: Path, shape: McpShape): McpConfig {
  const { targets, statefulMode, prefixMode, failureMode, dnsRebindingProtection } = shape
  targets.forEach(({ name }, at) => {
    if (targets.findIndex((other) => other.name === name) !== at)
      context.problem(
        [...path, 'targets', at, 'name'],
        `got a second target named '${name}', expected names to differ`,
      )
  })
  return {
    targets: targets.map((target, at) => targetOf(context, [...path, 'targets', at], target)),
    statefulMode,
    prefixMode,
    failureMode,
    dnsRebindingProtection,
  }
}

function targetOf(context: Context, path: Path, shape: TargetShape): McpTarget {
  const { name, stdio, mcp, sse, policies = {} } = shape
  if (stdio !== undefined) {
    const { cmd, args, env, clear_env: clearEnv } = stdio
    return { name, kind: 'stdio', cmd, args, env, clearEnv }
  }
  const kind = mcp === undefined ? 'sse' : 'mcp'
  const { secure, host, port, path: written } = (mcp ?? sse)!
  const { backendTLS, backendAuth, requestHeaderModifier, transformations } = policies
  const tls = orNull(backendTLS, (one) =>
    backendTlsOf(context, [...path, 'policies', 'backendTLS'], one),
  )
  if (transformations?.response !== undefined)
    context.problem(
      [...path, 'policies', 'transformations', 'response'],
      'got response, expected request only: clients see messages of a target, not its headers',
    )
  return {
    name,
    kind,
    host,
    port,
    path: written ?? `/${kind}`,
    tls: tls ?? (secure ? SYSTEM_TLS : null),
    auth: orNull(backendAuth, backendAuthOf),
    requestHeaderModifier: requestHeaderModifier ?? null,
    transformations: orNull(transformations, transformationsOf),
  }
}
