// `config` and `frontendPolicies` → with their defaults.

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

/** Where things are that the file says nothing of. */
const PRESETS = {
  admin: { kind: 'localhost', port: 15_000 },
  stats: { kind: 'localhost', port: 15_020 },
  readiness: { kind: 'localhost', port: 15_021 },
} as const satisfies Record<string, AdminAddress>

/** Nobody asked for this address: who cannot have it does without. */
export function isDefaultAddress(address: AdminAddress): boolean {
  return Object.values<AdminAddress>(PRESETS).includes(address)
}

export function buildProcessConfig(shape: ProcessShape): ProcessConfig {
  const { level = 'info', format = 'text' } = shape.logging ?? {}
  return {
    workers: shape.workers ?? DEFAULT_WORKERS,
    admin: shape.adminAddr ?? PRESETS.admin,
    stats: shape.statsAddr ?? PRESETS.stats,
    readiness: shape.readinessAddr ?? PRESETS.readiness,
    logging: { level: [level].flat().join(','), format },
    sensitiveHeaders: shape.sensitiveHeaders ?? [],
    terminationDeadline: shape.connectionTerminationDeadline ?? TERMINATION_DEADLINE_MS,
    maxBytesInFlight: shape.maxBytesInFlight ?? MAX_BYTES_IN_FLIGHT,
    maxReaders: shape.ui?.maxReaders ?? MAX_PAGE_STREAMS,
    maxKeys: shape.rateLimit?.maxKeys ?? MAX_LIMIT_KEYS,
    maxWatchers: shape.trace?.maxWatchers ?? MAX_TRACE_WATCHERS,
    maxTracedBytes: shape.trace?.maxBodyBytes ?? MAX_TRACED_BODY_BYTES,
  }
}

/** Where each is: the environment wins over the file, for several gateways may share one. */
export function resolveAddresses(
  config: ProcessConfig,
  env: Readonly<Record<string, string | undefined>>,
): Pick<ProcessConfig, 'admin' | 'stats' | 'readiness'> {
  const of = (name: keyof typeof ADDRESSES, written: AdminAddress): AdminAddress => {
    const text = env[name]
    if (text === undefined) return written
    const { data, error } = ADDRESSES[name].safeParse(text)
    if (data === undefined) throw new Error(`${name}: ${error?.issues[0]?.message}`)
    return data
  }
  return {
    admin: of('ADMIN_ADDR', config.admin),
    stats: of('STATS_ADDR', config.stats),
    readiness: of('READINESS_ADDR', config.readiness),
  }
}

export function buildBackendLimits(shape: ProcessShape): BackendLimits {
  const written = shape.backend ?? {}
  return {
    connectTimeout: written.connectTimeout ?? BACKEND_LIMITS.connectTimeout,
    poolIdleTimeout: written.poolIdleTimeout ?? BACKEND_LIMITS.poolIdleTimeout,
    poolMaxAge: written.poolMaxAge ?? BACKEND_LIMITS.poolMaxAge,
    poolMaxSize: written.poolMaxSize ?? BACKEND_LIMITS.poolMaxSize,
    poolMaxWaiting: written.poolMaxWaiting ?? BACKEND_LIMITS.poolMaxWaiting,
    bodyIdleTimeout: written.bodyIdleTimeout ?? BACKEND_LIMITS.bodyIdleTimeout,
  }
}

export function buildMcpLimits({ mcp = {} }: ProcessShape): McpLimits {
  const written = Object.entries(mcp).filter(([, value]) => value !== undefined)
  return { ...MCP_LIMITS, ...Object.fromEntries(written) }
}

export function buildLlmLimits({ llm = {} }: ProcessShape): LlmLimits {
  const written = Object.entries(llm).filter(([, value]) => value !== undefined)
  return { ...LLM_LIMITS, ...Object.fromEntries(written) }
}

export function buildWireLimits(shape: FrontendShape): WireLimits {
  const { http = {}, tls = {} } = shape
  return {
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
  }
}
