// The configuration of a soak: everything that keeps something for a while, with times short enough to see it go.

import { childFile } from '../support/children/child-file.ts'

/** Of each window: some requests are refused. */
const LIMITED_REQUESTS = 20

/** Never used up, so that what is left can be counted. */
export const CHAT_BUDGET = 1_000_000_000

/** JSON is YAML. `version` makes one differ from the last: a route more, which nobody asks for. */
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
