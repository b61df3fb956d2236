// What one of several workers may use of that which is set for all of them: limits hold for the gateway as a whole, however
// many processes it has.

import type { Config } from '../base/config/types.ts'

/**
 * Rates are counted in one place instead, exactly. What one client or one port may have is not divided: a client may meet
 * one worker only, and must have all that is its own there. With several workers it can have more, up to so many times.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (whole: number, least = 1): number => Math.max(least, Math.ceil(whole / workers))
  const { process, backend, mcp, llm } = config
  return {
    ...config,
    process: { ...process, maxBytesInFlight: part(process.maxBytesInFlight) },
    backend: {
      ...backend,
      poolMaxSize: part(backend.poolMaxSize),
      poolMaxWaiting: part(backend.poolMaxWaiting, 0),
    },
    mcp: {
      ...mcp,
      maxSessions: part(mcp.maxSessions),
      maxChildren: part(mcp.maxChildren),
      // One of the largest must fit.
      maxReadTogether: part(mcp.maxReadTogether, mcp.maxRequestBytes),
    },
    llm: { ...llm, maxHeldTogether: part(llm.maxHeldTogether, llm.maxHeldBytes) },
  }
}
