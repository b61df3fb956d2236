// Applies the defaults of `config` and `frontendPolicies`.

import {
  BACKEND_LIMITS,
  LLM_LIMITS,
  MAX_BYTES_IN_FLIGHT,
  MAX_LIMIT_KEYS,
  MAX_PAGE_STREAMS,
  MAX_TRACE_WATCHERS,
  MCP_LIMITS,
  TERMINATION_DEADLINE_MS,
  MAX_TRACED_BODY_BYTES,
  WIRE_LIMITS,
  DEFAULT_WORKERS,
} from '../../core/bounds.ts'
import type { BackendLimits, LlmLimits, McpLimits, WireLimits } from '../../core/bounds.ts'
import { ADDRESSES } from '../shape/process-shapes.ts'
import type { FrontendShape, ProcessShape } from '../shape/process-shapes.ts'
import type { AdminAddress, ProcessConfig } from '../config-types.ts'

const DEFAULT_ADDRESSES = {
  admin: { kind: 'localhost', port: 15_000 },
  stats: { kind: 'localhost', port: 15_020 },
  readiness: { kind: 'localhost', port: 15_021 },
} as const satisfies Record<string, AdminAddress>

/** A default address is optional: if it is in use, the gateway runs without that server. */
export function isDefaultAddress(address: AdminAddress): boolean {
  return Object.values<AdminAddress>(DEFAULT_ADDRESSES).includes(address)
}

export function buildProcessConfig(shape: ProcessShape): ProcessConfig {
  const { level = 'info', format = 'text' } = shape.logging ?? {}
  return {
    workers: shape.workers ?? DEFAULT_WORKERS,
    admin: shape.adminAddr ?? DEFAULT_ADDRESSES.admin,
    stats: shape.statsAddr ?? DEFAULT_ADDRESSES.stats,
    readiness: shape.readinessAddr ?? DEFAULT_ADDRESSES.readiness,
    logging: { level: [level].flat().join(','), format },
    sensitiveHeaders: shape.sensitiveHeaders ?? [],
    terminationDeadline: shape.connectionTerminationDeadline ?? TERMINATION_DEADLINE_MS,
    maxBytesInFlight: shape.maxBytesInFlight ?? MAX_BYTES_IN_FLIGHT,
    maxReaders: shape.ui?.maxReaders ?? MAX_PAGE_STREAMS,
    maxKeys: shape.rateLimit?.maxKeys ?? MAX_LIMIT_KEYS,
    maxWatchers: shape.trace?.maxWatchers ?? MAX_TRACE_WATCHERS,
    maxTracedBytes: shape.trace?.maxBodyBytes ?? MAX_TRACED_BODY_BYTES,
    redactBodies: shape.trace?.redactBodies ?? [],
  }
}

/** The environment overrides the file, because several gateways may share one file. */
export function resolveAddresses(
  config: ProcessConfig,
  env: Readonly<Record<string, string | undefined>>,
): Pick<ProcessConfig, 'admin' | 'stats' | 'readiness'> {
  const resolve = (name: keyof typeof ADDRESSES, configured: AdminAddress): AdminAddress => {
    const text = env[name]
    if (text === undefined) return configured
    const { data, error } = ADDRESSES[name].safeParse(text)
    if (data === undefined) throw new Error(`${name}: ${error?.issues[0]?.message}`)
    return data
  }
  return {
    admin: resolve('ADMIN_ADDR', config.admin),
    stats: resolve('STATS_ADDR', config.stats),
    readiness: resolve('READINESS_ADDR', config.readiness),
  }
}

export function buildBackendLimits(shape: ProcessShape): BackendLimits {
  const backend = shape.backend ?? {}
  return {
    connectTimeout: backend.connectTimeout ?? BACKEND_LIMITS.connectTimeout,
    poolIdleTimeout: backend.poolIdleTimeout ?? BACKEND_LIMITS.poolIdleTimeout,
    poolMaxAge: backend.poolMaxAge ?? BACKEND_LIMITS.poolMaxAge,
    poolMaxSize: backend.poolMaxSize ?? BACKEND_LIMITS.poolMaxSize,
    poolMaxWaiting: backend.poolMaxWaiting ?? BACKEND_LIMITS.poolMaxWaiting,
    bodyIdleTimeout: backend.bodyIdleTimeout ?? BACKEND_LIMITS.bodyIdleTimeout,
    responseHeadTimeout: backend.responseHeadTimeout ?? BACKEND_LIMITS.responseHeadTimeout,
  }
}

export function buildMcpLimits({ mcp = {} }: ProcessShape): McpLimits {
  const configured = Object.entries(mcp).filter(([, value]) => value !== undefined)
  const limits = { ...MCP_LIMITS, ...Object.fromEntries(configured) }
  if (mcp.maxChildrenPerClient !== undefined) return limits
  // One client must not hold all of the children.
  const half = Math.ceil(limits.maxChildren / 2)
  return { ...limits, maxChildrenPerClient: Math.min(limits.maxChildrenPerClient, half) }
}

export function buildLlmLimits({ llm = {} }: ProcessShape): LlmLimits {
  const configured = Object.entries(llm).filter(([, value]) => value !== undefined)
  return { ...LLM_LIMITS, ...Object.fromEntries(configured) }
}

export function buildWireLimits(shape: FrontendShape): WireLimits {
  const { http = {}, tls = {} } = shape
  return {
    normalizePath: http.normalizePath ?? WIRE_LIMITS.normalizePath,
    maxHeadBytes: http.maxHeadBytes ?? WIRE_LIMITS.maxHeadBytes,
    maxHeaders: http.http1MaxHeaders ?? WIRE_LIMITS.maxHeaders,
    maxBodyBytes: http.maxBodyBytes ?? WIRE_LIMITS.maxBodyBytes,
    headTimeout: http.headTimeout ?? WIRE_LIMITS.headTimeout,
    bodyIdleTimeout: http.bodyIdleTimeout ?? WIRE_LIMITS.bodyIdleTimeout,
    responseIdleTimeout: http.responseIdleTimeout ?? WIRE_LIMITS.responseIdleTimeout,
    keepAliveTimeout: http.http1IdleTimeout ?? WIRE_LIMITS.keepAliveTimeout,
    maxConnections: http.maxConnections ?? WIRE_LIMITS.maxConnections,
    maxConnectionsPerAddress: http.maxConnectionsPerAddress ?? WIRE_LIMITS.maxConnectionsPerAddress,
    maxStreams: http.http2MaxStreams ?? WIRE_LIMITS.maxStreams,
    handshakeTimeout: tls.handshakeTimeout ?? WIRE_LIMITS.handshakeTimeout,
    headersWithUnderscores: http.headersWithUnderscores ?? WIRE_LIMITS.headersWithUnderscores,
  }
}
