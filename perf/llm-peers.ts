// The gateway three times: a plain route, an LLM route, and an LLM route with limits; beside it nginx and another LLM gateway.
import { join } from 'node:path'
import { MODEL, MODEL_ALIAS } from './chat-fixtures.ts'
import { installed, type Package } from './npm-package.ts'
import type { Options } from './options.ts'
import { gatewayCommand, nginx, provided, save, type Found, type Peer } from './peers.ts'

/** With a newer server around it, it answers 500 to every stream (Portkey-AI/gateway#1389). */
const PORTKEY: Package = {
  name: '@portkey-ai/gateway',
  version: '1.15.2',
  overrides: { '@hono/node-server': '1.14.1' },
}

const VARIANTS = ['plain', 'llm', 'limited'] as const
type Variant = (typeof VARIANTS)[number]
type Family = 'llm' | 'llm-peers'

/** Never used up: what is measured is what looking at it costs. */
const PLENTY = 1e15
const LIMITS = [
  { requests: PLENTY, unit: 'Hours' },
  { tokens: PLENTY, unit: 'Hours', key: 'request.headers["x-user"]' },
]

/** The three variants of the gateway, by themselves. */
export function findLlmGateways(options: Options, folder: string): Found {
  return gateways(options, folder, 'llm')
}

/** Beside others; portkey comes from npm. */
export function findLlmPeers(options: Options, folder: string): Found {
  const { peers, missing } = gateways(options, folder, 'llm-peers')
  if (provided('nginx', options.install))
    peers.unshift({ ...nginx(join(folder, 'llm')), speaks: 'llm-peers' })
  else missing.push('nginx is not on PATH: skipped (--install tries apt-get)')
  const program = installed(PORTKEY, folder)
  if (Array.isArray(program)) peers.push(portkey(program))
  else missing.push(`${PORTKEY.name} ${PORTKEY.version} is skipped: ${program}`)
  return { peers, missing }
}

function gateways(options: Options, folder: string, family: Family): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  return { peers: VARIANTS.map((name) => gateway(name, command, { folder, family })), missing: [] }
}

function gateway(
  name: Variant,
  command: readonly string[],
  { folder, family }: { folder: string; family: Family },
): Peer {
  return {
    name,
    speaks: family,
    // JSON is YAML.
    command: (port, backendPort) => [
      ...command,
      '-f',
      save(folder, `${name}-llm.yaml`, JSON.stringify(config(name, port, backendPort))),
    ],
  }
}

function config(name: Variant, port: number, backendPort: number): unknown {
  const host = `127.0.0.1:${backendPort}`
  const auth = { backendAuth: { key: '0123456789abcdef' } }
  const ai = { name: 'perf', provider: { openAI: {} }, hostOverride: host, policies: auth }
  const policies = {
    ai: { modelAliases: { [MODEL_ALIAS]: MODEL } },
    ...(name === 'limited' ? { rateLimit: { local: LIMITS } } : {}),
  }
  return {
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: [name === 'plain' ? { backends: [{ host }] } : { policies, backends: [{ ai }] }],
  }
}

/** Told by each request where to forward it. It would listen on every address. */
function portkey([node = '', program = '']: readonly string[]): Peer {
  const loopback = join(import.meta.dirname, 'peers/loopback.js')
  return {
    name: 'portkey',
    speaks: 'llm-peers',
    command: (port) => [node, '--import', loopback, program, '--headless', `--port=${port}`],
  }
}

/** The header lines by which it is told. */
export function portkeyLines(backendPort: number): string {
  const host = `http://127.0.0.1:${backendPort}/v1`
  return `x-portkey-provider: openai\r\nx-portkey-custom-host: ${host}\r\n`
}
