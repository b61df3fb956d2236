// The gateway with its admin interface, where the page may be open, and without one.
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found, type Peer } from './peers.ts'

/** The admin interface has the next port; `start` tries others if it is taken. */
export function adminPortOf(port: number): number {
  return port + 1
}

export function findUiPeers(options: Options, folder: string): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  return { peers: [peer('gateway', command, folder), peer('plain', command, folder)], missing: [] }
}

function peer(name: 'gateway' | 'plain', command: readonly string[], folder: string): Peer {
  return {
    name,
    speaks: 'ui',
    command: (port, backendPort) => {
      const admin = name === 'plain' ? 'off' : `127.0.0.1:${adminPortOf(port)}`
      const file = save(folder, `${name}-ui.yaml`, config(port, backendPort))
      // The environment takes precedence over the file.
      return ['env', `ADMIN_ADDR=${admin}`, ...command, '-f', file]
    },
  }
}

/** An example of everything that the page shows; only the last route has traffic. */
function config(port: number, backendPort: number): string {
  return `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
  - name: limited
    matches: [{ path: { pathPrefix: /limited } }]
    policies: { rateLimit: { local: [{ requests: 100, unit: Minutes, key: source.address }] } }
    backends: [{ host: '127.0.0.1:${backendPort}' }]
  - name: chat
    matches: [{ path: { pathPrefix: /v1 } }]
    backends: [{ ai: { name: main, provider: { mock: {} } } }]
  - name: tools
    matches: [{ path: { pathPrefix: /mcp } }]
    backends: [{ mcp: { targets: [{ name: none, stdio: { cmd: 'true' } }] } }]
  - name: all
    backends: [{ host: '127.0.0.1:${backendPort}' }]
`
}
