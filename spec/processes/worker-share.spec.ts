// The share of one worker in the limits of the gateway.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { divideLimits } from '../../lib/processes/worker.ts'
import { configOf } from '../support/config.ts'

const share = suite('worker share')

const TEXT = `gateways: { a: { port: 1 } }
config:
  backend: { poolMaxSize: 10, poolMaxWaiting: 0 }
  mcp: { maxSessions: 3, maxSessionsPerClient: 2, maxChildren: 1, maxChildrenPerClient: 1, maxRequestBytes: 2048, maxReadTogether: 4096 }
  llm: { maxHeldTogether: 4096, maxHeldBytes: 1024 }
frontendPolicies: { http: { maxConnections: 100, maxConnectionsPerAddress: 9, maxHeadBytes: 2048 } }
`

share('divides limits of the whole gateway, not those per request, client or port', () => {
  const { wire, backend, mcp, llm } = divideLimits(configOf(TEXT), 4)
  assert.equal(
    [wire.maxConnections, wire.maxConnectionsPerAddress, wire.maxHeadBytes],
    [100, 9, 2048],
  )
  assert.equal([backend.poolMaxSize, backend.poolMaxWaiting], [3, 0])
  // Each worker needs at least one, and space for one of the largest.
  assert.equal([mcp.maxSessions, mcp.maxChildren, mcp.maxReadTogether], [1, 1, 2048])
  assert.equal([mcp.maxSessionsPerClient, mcp.maxChildrenPerClient], [2, 1])
  assert.equal([llm.maxHeldTogether, llm.maxHeldBytes], [1024, 1024])
})

share('one client cannot hold all children of a worker', () => {
  const { mcp } = divideLimits(configOf('gateways: { a: { port: 1 } }\n'), 4)
  assert.equal([mcp.maxChildren, mcp.maxChildrenPerClient], [64, 32])
})

share('a single worker has the whole limit', () => {
  const config = configOf(TEXT)
  assert.equal(divideLimits(config, 1), config)
})

share.run()
