// /healthz/ready: whether the gateway takes requests, for load balancers and supervisors (reference.md 7.4).

import type { Endpoints, Handler } from '../base/endpoints.ts'
import { answer } from './server.ts'

/** `starting`: ports are not open yet. `draining`: they are closed again. */
export type Readiness = 'starting' | 'ready' | 'draining'

export function readinessEndpoints(state: () => Readiness): Endpoints {
  const tell: Handler = (_request, response) => {
    const now = state()
    // Probes must not be answered from memory.
    response.setHeader('cache-control', 'no-store')
    if (now === 'ready') answer(response, 200, 'ready')
    else answer(response, 503, `not ready: ${now}`)
  }
  return { '/healthz/ready': { GET: tell, HEAD: tell } }
}
