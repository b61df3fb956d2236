// The peers of the MCP measures: proxies from npm, and the gateway, all in front of the same stdio server.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Options } from './options.ts'
import { gatewayCommand, save, type Found, type Peer } from './peers.ts'
import { onLoadCores } from './process.ts'

/** Starts the server. Peers run on the proxy's core and would have what they start run there too. */
export const SERVER_COMMAND = onLoadCores([
  process.execPath,
  join(import.meta.dirname, 'peers/echo-server.js'),
])

type Package = { name: 'supergateway' | 'mcp-proxy'; version: string }

const SUPERGATEWAY: Package = { name: 'supergateway', version: '4.0.0' }
const MCP_PROXY: Package = { name: 'mcp-proxy', version: '6.7.19' }
const INSTALL_DEADLINE_MS = 180_000

/** Installs what comes from npm into `folder`, which goes away with the run. */
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

/** The command of a package's program; a text says why there is none. */
function installed({ name, version }: Package, folder: string): string[] | string {
  console.error(`installing ${name} ${version} with npm`)
  const home = join(folder, 'npm', name)
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefer-offline']
  const { status, error, stderr } = spawnSync(
    'npm',
    ['install', '--prefix', home, ...flags, `${name}@${version}`],
    { encoding: 'utf8', timeout: INSTALL_DEADLINE_MS, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  if (error !== undefined) return `npm could not be run: ${error.message}`
  const reason = /^npm error .*$/m.exec(stderr)?.[0] ?? `npm ended with ${status}`
  if (status !== 0) return reason
  const root = join(home, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>
  }
  return [process.execPath, join(root, bin[name] ?? '')]
}

/** A session has a process of its own, as with the gateway. Without its log, which holds every message. */
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
