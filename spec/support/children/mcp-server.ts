// A small MCP server over standard input and output, without dependencies, that specs use as a backend of the gateway.
//   node mcp-server.js [--name fixture] [--version 1.0.0] [--tools echo,slow] [--protocol 2025-06-18] [--instructions text]

import { parseArgs } from 'node:util'
import { TOOLS } from './mcp-tools.ts'
import { Peer, Refusal } from './peer.ts'
import type { Call, Json, Methods } from './peer.ts'

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']

const { values: options } = parseArgs({
  options: {
    name: { type: 'string', default: 'fixture' },
    version: { type: 'string', default: '1.0.0' },
    /** The offered tools; all by default. */
    tools: { type: 'string', default: Object.keys(TOOLS).join(',') },
    /** The only supported version; by default that of the client. */
    protocol: { type: 'string', default: '' },
    instructions: { type: 'string', default: '' },
  },
})

const offered = options.tools.split(',').filter((name) => name !== '')
const subscribed = new Set<string>()
let level = 'info'

const RESOURCES = [
  { uri: 'test://one', name: 'one', mimeType: 'text/plain' },
  { uri: 'test://two', name: 'two', mimeType: 'text/plain' },
]

const METHODS: Methods = {
  initialize,
  ping: () => ({}),
  'tools/list': () => ({
    tools: offered.map((name) => ({
      name,
      description: TOOLS[name]?.description ?? '',
      inputSchema: { type: 'object' },
    })),
  }),
  'tools/call': callTool,
  'resources/list': () => ({ resources: RESOURCES }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'test://item/{id}', name: 'item' }],
  }),
  'resources/read': ({ uri }) => {
    if (!/^test:\/\/(?:one|two|item\/.+)$/.test(String(uri)))
      throw new Refusal(-32002, `Resource not found: ${String(uri)}`)
    return {
      contents: [{ uri, mimeType: 'text/plain', text: `${options.name}: ${String(uri)}` }],
    }
  },
  'resources/subscribe': ({ uri }) => {
    subscribed.add(String(uri))
    return {}
  },
  'resources/unsubscribe': ({ uri }) => {
    subscribed.delete(String(uri))
    return {}
  },
  'prompts/list': () => ({
    prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
  }),
  'prompts/get': getPrompt,
  'completion/complete': ({ argument }) => {
    const { value = '' } = (argument ?? {}) as Json
    const values = ['paris', 'park', 'party', 'rome'].filter((word) =>
      word.startsWith(String(value)),
    )
    return { completion: { values, total: values.length, hasMore: false } }
  },
  /** Returns the previous level, so that a spec can check that it was set. */
  'logging/setLevel': (params) => {
    const before = level
    level = String(params['level'])
    return { _meta: { before } }
  },
}

function initialize({ protocolVersion }: Json): Json {
  const negotiated = VERSIONS.includes(String(protocolVersion)) ? protocolVersion : VERSIONS.at(-1)
  return {
    protocolVersion: options.protocol === '' ? negotiated : options.protocol,
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
    },
    serverInfo: { name: options.name, version: options.version },
    ...(options.instructions === '' ? {} : { instructions: options.instructions }),
  }
}

function callTool(params: Json, call: Call): unknown {
  const name = String(params['name'])
  const tool = offered.includes(name) ? TOOLS[name] : undefined
  if (tool === undefined) throw new Refusal(-32602, `Unknown tool: ${name}`)
  const { progressToken } = (params['_meta'] ?? {}) as Json
  const given = (params['arguments'] ?? {}) as Json
  return tool.run({ peer, call, given, progressToken, subscribed })
}

function getPrompt(params: Json): Json {
  if (params['name'] !== 'greet')
    throw new Refusal(-32602, `Unknown prompt: ${String(params['name'])}`)
  const given = (params['arguments'] ?? {}) as Json
  const { ['who']: name = 'world' } = given
  const content = { type: 'text', text: `Hello, ${String(name)}, from ${options.name}` }
  return { messages: [{ role: 'user', content }] }
}

const peer = new Peer(METHODS)
peer.listen()
