// The configuration of a soak: every feature that keeps state, with timeouts short enough to see it released.

import { childFile } from '../support/children/child-file.ts'

/** Requests in each window, low enough that some are refused. */
const LIMITED_REQUESTS = 20

/** Never exhausted, so that the remaining tokens can be checked. */
export const CHAT_BUDGET = 1_000_000_000

/** JSON is valid YAML. `version` makes each configuration differ by an unused route. */
export function soakConfig(backendPort: number, port: number, version: number): string {
  const host = `127.0.0.1:${backendPort}`
  const at = (pathPrefix: string): unknown => [{ path: { pathPrefix } }]
  const local = (limit: object): unknown => ({ rateLimit: { local: [limit] } })
  return JSON.stringify({
    config: {
      logging: { format: 'json' },
      mcp: { sessionTtl: '3s', goneTtl: '1s' },
      backend: { poolIdleTimeout: '2s' },
      connectionTerminationDeadline: '10s',
    },
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: [
      {
        name: 'mcp',
        matches: at('/mcp'),
        backends: [
          {
            mcp: {
              targets: [
                { name: 'soak', stdio: { cmd: process.execPath, args: [childFile('mcp-server')] } },
              ],
            },
          },
        ],
      },
      {
        name: 'chat',
        matches: at('/v1'),
        policies: local({
          tokens: CHAT_BUDGET,
          unit: 'Hours',
          key: 'request.headers["x-user"]',
        }),
        backends: [
          {
            ai: {
              name: 'soak',
              provider: { openAI: {} },
              hostOverride: host,
              policies: { backendAuth: { key: 'not-a-real-key' } },
            },
          },
        ],
      },
      {
        name: 'limited',
        matches: at('/limited'),
        policies: local({ requests: LIMITED_REQUESTS, unit: 'Seconds' }),
        backends: [{ host }],
      },
      {
        name: `version-${version}`,
        matches: at(`/version-${version}`),
        policies: { directResponse: { status: 204 } },
      },
      { name: 'plain', backends: [{ host }] },
    ],
  })
}
