#!/usr/bin/env node
// The MCP server of the quickstart: four tools, a prompt and two resources over standard input and output. It needs
// only Node, and shows how the gateway runs a child process.

import { setTimeout as delay } from 'node:timers/promises'
import { VERSION } from '../lib/core/version.ts'
import {
  INVALID_PARAMS_CODE,
  DemoPeer,
  DemoRpcError,
  demoErrorMessageOf,
  jsonObjectOrEmpty,
  ownPropertyOf,
} from '../lib/forward/mcp/demo-server.ts'
import type { DemoCall, DemoJson, DemoMethod } from '../lib/forward/mcp/demo-server.ts'

interface Field {
  readonly type: 'string' | 'number' | 'integer'
  readonly description: string
  readonly minimum?: number
  readonly maximum?: number
}

interface Tool {
  readonly description: string
  readonly fields: Record<string, Field>
  readonly required: readonly string[]
  /** A thrown error becomes the result of the tool call, which the model reads. */
  readonly run: (args: DemoJson, call: DemoCall) => string | Promise<string>
}

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const LEVELS = 'debug info notice warning error critical alert emergency'.split(' ')
const RESOURCE_NOT_FOUND_CODE = -32002

const MAX_COUNT = 1_000
const MAX_DELAY_MS = 10_000

const NAMES = ['Ada', 'Alan', 'Barbara', 'Edsger', 'Grace', 'Margaret']
const README = { uri: 'demo://readme', name: 'readme', mimeType: 'text/markdown' }
const README_TEXT = '# Demo\n\nThis text was read through the gateway.\n'
const SQUARE = { uriTemplate: 'demo://square/{n}', name: 'square', mimeType: 'text/plain' }
const GREET = { name: 'greet', arguments: [{ name: 'name', required: true }] }

const TOOLS: Record<string, Tool> = {
  echo: {
    description: 'Returns the given text',
    fields: { text: { type: 'string', description: 'Text to return' } },
    required: ['text'],
    run: ({ text }) => String(text),
  },
  add: {
    description: 'Adds two numbers',
    fields: {
      a: { type: 'number', description: 'First number' },
      b: { type: 'number', description: 'Second number' },
    },
    required: ['a', 'b'],
    run: ({ a, b }) => String(Number(a) + Number(b)),
  },
  time: {
    description: 'Returns the current time',
    fields: {
      zone: { type: 'string', description: 'Time zone such as Europe/Berlin; default UTC' },
    },
    required: [],
    run: ({ zone = 'UTC' }) =>
      new Date().toLocaleString('sv-SE', { timeZone: String(zone), timeZoneName: 'short' }),
  },
  slow_count: {
    description: 'Counts slowly, reports progress, and can be cancelled',
    fields: {
      to: { type: 'integer', description: 'Last number', minimum: 1, maximum: MAX_COUNT },
      delayMs: {
        type: 'integer',
        description: 'Milliseconds per number; default 100',
        minimum: 0,
        maximum: MAX_DELAY_MS,
      },
    },
    required: ['to'],
    run: slowCount,
  },
}

const METHODS: Record<string, DemoMethod> = {
  initialize,
  ping: () => ({}),
  'logging/setLevel': setLevel,
  'tools/list': () => ({ tools: Object.entries(TOOLS).map(describeTool) }),
  'tools/call': callTool,
  'prompts/list': () => ({ prompts: [GREET] }),
  'prompts/get': getPrompt,
  'resources/list': () => ({ resources: [README] }),
  'resources/templates/list': () => ({ resourceTemplates: [SQUARE] }),
  'resources/read': readResource,
  'completion/complete': complete,
}

const peer = new DemoPeer(METHODS, process.stdout)
let threshold = LEVELS.indexOf('info')

function initialize({ protocolVersion }: DemoJson): DemoJson {
  return {
    protocolVersion: VERSIONS.find((version) => version === protocolVersion) ?? VERSIONS.at(-1),
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {}, completions: {} },
    serverInfo: { name: 'gateway-demo', title: 'Demo server of the gateway', version: VERSION },
    instructions: 'A server to try the gateway with: echo, add, time and slow_count.',
  }
}

function setLevel({ level }: DemoJson): DemoJson {
  const at = LEVELS.indexOf(String(level))
  if (at < 0) throw new DemoRpcError(INVALID_PARAMS_CODE, `Unknown level: ${String(level)}`)
  threshold = at
  return {}
}

function log(level: string, logger: string, data: string): void {
  if (LEVELS.indexOf(level) >= threshold)
    peer.notify('notifications/message', { level, logger, data })
}

async function slowCount({ to, delayMs = 100 }: DemoJson, call: DemoCall): Promise<string> {
  const last = Number(to)
  log('info', 'slow_count', `counting to ${last}`)
  for (let count = 1; count <= last; count++) {
    // Progress is sent before the delay: some clients ignore progress that arrives together with the result.
    call.progress(count, last)
    await delay(Number(delayMs), undefined, { signal: call.signal })
  }
  return `counted to ${last}`
}

function describeTool([name, { description, fields: properties, required }]: [
  string,
  Tool,
]): DemoJson {
  return { name, description, inputSchema: { type: 'object', properties, required } }
}

async function callTool({ name, arguments: args }: DemoJson, call: DemoCall): Promise<DemoJson> {
  const tool = ownPropertyOf(TOOLS, name)
  if (tool === undefined)
    throw new DemoRpcError(INVALID_PARAMS_CODE, `Unknown tool: ${String(name)}`)
  try {
    const text = await tool.run(checkArguments(tool, jsonObjectOrEmpty(args)), call)
    return { content: [{ type: 'text', text }] }
  } catch (error) {
    return { content: [{ type: 'text', text: demoErrorMessageOf(error) }], isError: true }
  }
}

function checkArguments({ fields, required }: Tool, args: DemoJson): DemoJson {
  for (const [name, { type, minimum = -Infinity, maximum = Infinity }] of Object.entries(fields)) {
    const value = args[name]
    if (value === undefined && !required.includes(name)) continue
    const hasType = type === 'integer' ? Number.isSafeInteger(value) : typeof value === type
    if (!hasType) throw new Error(`expected ${name}: ${type}`)
    if (Number(value) < minimum || Number(value) > maximum)
      throw new Error(`expected ${name} between ${minimum} and ${maximum}`)
  }
  return args
}

function getPrompt({ name, arguments: args }: DemoJson): DemoJson {
  if (name !== GREET.name)
    throw new DemoRpcError(INVALID_PARAMS_CODE, `Unknown prompt: ${String(name)}`)
  const { name: person } = jsonObjectOrEmpty(args)
  if (typeof person !== 'string')
    throw new DemoRpcError(INVALID_PARAMS_CODE, 'expected name: string')
  const content = { type: 'text', text: `Please greet ${person} in one short sentence.` }
  return { messages: [{ role: 'user', content }] }
}

function readResource({ uri }: DemoJson): DemoJson {
  if (uri === README.uri) return { contents: [{ ...README, text: README_TEXT }] }
  const n = /^demo:\/\/square\/(\d{1,9})$/.exec(String(uri))?.[1]
  if (n === undefined)
    throw new DemoRpcError(RESOURCE_NOT_FOUND_CODE, `Resource not found: ${String(uri)}`)
  return { contents: [{ uri, mimeType: SQUARE.mimeType, text: String(BigInt(n) ** 2n) }] }
}

function complete({ ref, argument }: DemoJson): DemoJson {
  const { name, value } = jsonObjectOrEmpty(argument)
  const isGreetName = jsonObjectOrEmpty(ref)['name'] === GREET.name && name === 'name'
  const start = String(value).toLowerCase()
  const values = isGreetName ? NAMES.filter((one) => one.toLowerCase().startsWith(start)) : []
  return { completion: { values, total: values.length, hasMore: false } }
}

peer.listen(process.stdin)
