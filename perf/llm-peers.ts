// The gateway four times: a plain route, an LLM route, one with limits, and one with a token, a rule and limits; next to it
// nginx, haproxy and another LLM gateway.
import { join } from 'node:path'
import { MODEL, MODEL_ALIAS } from './chat-fixtures.ts'
import { installed, type Package } from './npm-package.ts'
import type { Options } from './options.ts'
import { findHttpPeers, gatewayCommand, save, type Found, type Peer } from './peers.ts'
import { AUDIENCE, ISSUER, JWKS } from './token.ts'

/** With a newer version, portkey answers 500 to every stream (Portkey-AI/gateway#1389). */
const PORTKEY: Package = {
  name: '@portkey-ai/gateway',
  version: '1.15.2',
  overrides: { '@hono/node-server': '1.14.1' },
}

const VARIANTS = ['plain', 'llm', 'limited', 'policed'] as const
type Variant = (typeof VARIANTS)[number]

/** Limits that are never reached: the cost of checking them is measured. */
const PLENTY = 1e15
const LIMITS = [
  { requests: PLENTY, unit: 'Hours' },
  { tokens: PLENTY, unit: 'Hours', key: 'request.headers["x-user"]' },
]

/** Policies that every request passes. */
const GUARDS = {
  jwtAuth: { mode: 'strict', issuer: ISSUER, audiences: [AUDIENCE], jwks: JWKS },
  authorization: { rules: ['"mcp-user" in jwt.realm_access.roles'] },
}

/** All LLM peers; portkey is installed from npm. */
export function findLlmPeers(options: Options, folder: string): Found {
  const plain = findHttpPeers(options, join(folder, 'llm'))
  const others = plain.peers.filter(({ name }) => name !== 'relay' && name !== 'gateway')
  const own = gateways(options, folder)
  const peers = [...others.map((peer): Peer => ({ ...peer, speaks: 'llm' })), ...own.peers]
  const missing = plain.missing
  const program = installed(PORTKEY, folder)
  if (Array.isArray(program)) peers.push(portkey(program))
  else missing.push(`${PORTKEY.name} ${PORTKEY.version} is skipped: ${program}`)
  return { peers, missing }
}

function gateways(options: Options, folder: string): Found {
  const command = gatewayCommand(options)
  if (command === undefined)
    return { peers: [], missing: ['the gateway is not built: skipped (npm run build)'] }
  return { peers: VARIANTS.map((name) => gateway(name, command, folder)), missing: [] }
}

function gateway(name: Variant, command: readonly string[], folder: string): Peer {
  return {
    name,
    speaks: 'llm',
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
    ...(name === 'limited' || name === 'policed' ? { rateLimit: { local: LIMITS } } : {}),
    ...(name === 'policed' ? GUARDS : {}),
  }
  return {
    gateways: { default: { port, address: '127.0.0.1' } },
    routes: [name === 'plain' ? { backends: [{ host }] } : { policies, backends: [{ ai }] }],
  }
}

/** Each request names the backend in a header. Without loopback.ts it would listen on every address. */
function portkey([node = '', program = '']: readonly string[]): Peer {
  const loopback = join(import.meta.dirname, 'peers/loopback.js')
  return {
    name: 'portkey',
    speaks: 'llm',
    command: (port) => [node, '--import', loopback, program, '--headless', `--port=${port}`],
  }
}

/** The header lines that name the backend. */
export function portkeyLines(backendPort: number, base = ''): string {
  const host = `http://127.0.0.1:${backendPort}${base}/v1`
  return `x-portkey-provider: openai\r\nx-portkey-custom-host: ${host}\r\n`
}
