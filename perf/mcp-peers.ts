// The peers of the MCP measures: proxies from npm, and the gateway, all in front of the same stdio server.
import { join } from 'node:path'
import { installed, type Package } from './npm-package.ts'
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found, type Peer } from './peers.ts'
import { onLoadCores } from './process.ts'

/** Starts the server on another core. Otherwise it would run on the core of the peer that starts it. */
export const SERVER_COMMAND = onLoadCores([
  process.execPath,
  join(import.meta.dirname, 'peers/echo-server.js'),
])

const SUPERGATEWAY: Package = { name: 'supergateway', version: '4.0.0' }
const MCP_PROXY: Package = { name: 'mcp-proxy', version: '6.7.19' }

/** Installs packages from npm into `folder`, which is deleted after the run. */
export function findMcpPeers(options: Options, folder: string): Found {
  const peers: Peer[] = []
  const missing: string[] = []
  for (const [wanted, make] of [
    [SUPERGATEWAY, supergateway],
    [MCP_PROXY, mcpProxy],
  ] as const) {
    const program = installed(wanted, folder)
    if (Array.isArray(program)) peers.push(make(program))
    else missing.push(`${wanted.name} ${wanted.version} is skipped: ${program}`)
  }
  const command = gatewayCommand(options)
  if (command === undefined) missing.push('the gateway is not built: skipped (npm run build)')
  else peers.push(gateway(command, folder))
  return { peers, missing }
}

/** One process per session, as with the gateway. Its log is off, because it contains every message. */
function supergateway([node = '', program = '']: readonly string[]): Peer {
  const loopback = join(import.meta.dirname, 'peers/loopback.js')
  const stdio = SERVER_COMMAND.map((word) => `'${word}'`).join(' ')
  const flags = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none']
  return {
    name: 'supergateway',
    speaks: 'mcp',
    command: (port) => [
      ...[node, '--import', loopback, program],
      ...['--stdio', stdio, ...flags, '--port', `${port}`],
    ],
  }
}

/** All its sessions share one process. */
function mcpProxy(program: readonly string[]): Peer {
  return {
    name: 'mcp-proxy',
    speaks: 'mcp',
    command: (port) => [
      ...program,
      ...['--host', '127.0.0.1', '--port', `${port}`, '--server', 'stream', '--'],
      ...SERVER_COMMAND,
    ],
  }
}

function gateway(command: readonly string[], folder: string): Peer {
  const [cmd, ...args] = SERVER_COMMAND
  const config = (port: number) => ({
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: [{ backends: [{ mcp: { targets: [{ name: 'echo', stdio: { cmd, args } }] } }] }],
  })
  return {
    name: 'gateway',
    speaks: 'mcp',
    // JSON is YAML.
    command: (port) => [
      ...command,
      '-f',
      save(folder, 'gateway-mcp.yaml', JSON.stringify(config(port))),
    ],
  }
}
