// What one of several workers may use of that which is set for all of them: limits hold for the gateway as a whole, however
// many processes it has.

import type { Config } from './base/config/types.ts'

/** Rates are counted in one place instead, exactly. */
export function shareOf(config: Config, workers: number): Config {
  const part = (whole: number, least = 1): number => Math.max(least, Math.ceil(whole / workers))
  const { process, wire, backend, mcp, llm } = config
  return {
    ...config,
    process: { ...process, maxBytesInFlight: part(process.maxBytesInFlight) },
    wire: {
      ...wire,
      maxConnections: part(wire.maxConnections),
      maxConnectionsPerAddress: part(wire.maxConnectionsPerAddress),
    },
    backend: {
      ...backend,
      poolMaxSize: part(backend.poolMaxSize),
      poolMaxWaiting: part(backend.poolMaxWaiting, 0),
    },
    mcp: {
      ...mcp,
      maxSessions: part(mcp.maxSessions),
      maxSessionsPerClient: part(mcp.maxSessionsPerClient),
      maxChildren: part(mcp.maxChildren),
      maxChildrenPerClient: part(mcp.maxChildrenPerClient),
      // One of the largest must fit.
      maxReadTogether: part(mcp.maxReadTogether, mcp.maxRequestBytes),
    },
    llm: { ...llm, maxHeldTogether: part(llm.maxHeldTogether, llm.maxHeldBytes) },
  }
}
