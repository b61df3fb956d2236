// The gateway twice: without and with token checks and a rule; both serve the backend and an MCP server.
import { SERVER_COMMAND } from './mcp-peers.ts'
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found, type Peer } from './peers.ts'
import { AUDIENCE, ISSUER, JWKS } from './token.ts'

const RULES = { rules: ['"mcp-user" in jwt.realm_access.roles'] }
const RULES_OF_TOKENS = { mode: 'strict', issuer: ISSUER, audiences: [AUDIENCE], jwks: JWKS }

export function findAuthPeers(options: Options, folder: string): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  return {
    peers: [peer('gateway', command, folder), peer('guarded', command, folder)],
    missing: [],
  }
}

function peer(name: 'gateway' | 'guarded', command: readonly string[], folder: string): Peer {
  return {
    name,
    speaks: 'auth',
    // JSON is YAML.
    command: (port, backendPort) => [
      ...command,
      '-f',
      save(folder, `${name}-auth.yaml`, JSON.stringify(config(name, port, backendPort))),
    ],
  }
}

function config(name: 'gateway' | 'guarded', port: number, backendPort: number): unknown {
  const [cmd, ...args] = SERVER_COMMAND
  const resourceMetadata = { resource: `http://127.0.0.1:${port}/mcp` }
  const guard = { authorization: RULES, jwtAuth: RULES_OF_TOKENS }
  const mcpGuard = {
    authorization: RULES,
    mcpAuthentication: { ...RULES_OF_TOKENS, resourceMetadata },
  }
  return {
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: [
      {
        matches: [{ path: { pathPrefix: '/mcp' } }],
        backends: [{ mcp: { targets: [{ name: 'echo', stdio: { cmd, args } }] } }],
        ...(name === 'guarded' ? { policies: mcpGuard } : {}),
      },
      {
        backends: [{ host: `127.0.0.1:${backendPort}` }],
        ...(name === 'guarded' ? { policies: guard } : {}),
      },
    ],
  }
}
