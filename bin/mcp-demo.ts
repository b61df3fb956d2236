#!/usr/bin/env node
// The MCP server of the quickstart: a few tools, a prompt and two resources over standard input and output. It needs
// nothing but Node, and shows what the gateway starts, talks to and ends.

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
  /** What it throws is told to the model as the tool's result. */
  readonly run: (given: DemoJson, call: DemoCall) => string | Promise<string>
}

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const LEVELS = 'debug info notice warning error critical alert emergency'.split(' ')
const NO_SUCH_RESOURCE = -32002

const MOST_COUNT = 1_000
const MOST_DELAY_MS = 10_000

const NAMES = ['Ada', 'Alan', 'Barbara', 'Edsger', 'Grace', 'Margaret']
const README = { uri: 'demo://readme', name: 'readme', mimeType: 'text/markdown' }
const README_TEXT = '# Demo\n\nThis text was read through the gateway.\n'
const SQUARE = { uriTemplate: 'demo://square/{n}', name: 'square', mimeType: 'text/plain' }
const GREET = { name: 'greet', arguments: [{ name: 'name', required: true }] }

const TOOLS: Record<string, Tool> = {
  echo: {
    description: 'Returns the text it is given',
    fields: { text: { type: 'string', description: 'What to return' } },
    required: ['text'],
    run: ({ text }) => String(text),
  },
  add: {
    description: 'Adds two numbers',
    fields: {
      a: { type: 'number', description: 'One number' },
      b: { type: 'number', description: 'The other number' },
    },
    required: ['a', 'b'],
    run: ({ a, b }) => String(Number(a) + Number(b)),
  },
  time: {
    description: 'Tells the time',
    fields: { zone: { type: 'string', description: 'Such as Europe/Berlin; UTC unless given' } },
    required: [],
    run: ({ zone = 'UTC' }) =>
      new Date().toLocaleString('sv-SE', { timeZone: String(zone), timeZoneName: 'short' }),
  },
  slow_count: {
    description: 'Counts slowly, tells how far it is, and can be cancelled',
    fields: {
      to: { type: 'integer', description: 'The last number', minimum: 1, maximum: MOST_COUNT },
      delayMs: {
        type: 'integer',
        description: 'Milliseconds per number; 100 unless given',
        minimum: 0,
        maximum: MOST_DELAY_MS,
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
  'tools/list': () => ({ tools: Object.entries(TOOLS).map(listed) }),
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

function initialize({ protocolVersion: asked }: DemoJson): DemoJson {
  return {
    protocolVersion: VERSIONS.find((version) => version === asked) ?? VERSIONS.at(-1),
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
    // First, not last: some clients pass over progress that comes together with the answer.
    call.progress(count, last)
    await delay(Number(delayMs), undefined, { signal: call.signal })
  }
  return `counted to ${last}`
}

function listed([name, { description, fields: properties, required }]: [string, Tool]): DemoJson {
  return { name, description, inputSchema: { type: 'object', properties, required } }
}

async function callTool({ name, arguments: given }: DemoJson, call: DemoCall): Promise<DemoJson> {
  const tool = ownPropertyOf(TOOLS, name)
  if (tool === undefined)
    throw new DemoRpcError(INVALID_PARAMS_CODE, `Unknown tool: ${String(name)}`)
  try {
    const text = await tool.run(checked(tool, jsonObjectOrEmpty(given)), call)
    return { content: [{ type: 'text', text }] }
  } catch (error) {
    return { content: [{ type: 'text', text: demoErrorMessageOf(error) }], isError: true }
  }
}

function checked({ fields, required }: Tool, given: DemoJson): DemoJson {
  for (const [name, { type, minimum = -Infinity, maximum = Infinity }] of Object.entries(fields)) {
    const value = given[name]
    if (value === undefined && !required.includes(name)) continue
    const isFit = type === 'integer' ? Number.isSafeInteger(value) : typeof value === type
    if (!isFit) throw new Error(`expected ${name}: ${type}`)
    if (Number(value) < minimum || Number(value) > maximum)
      throw new Error(`expected ${name} between ${minimum} and ${maximum}`)
  }
  return given
}

function getPrompt({ name, arguments: given }: DemoJson): DemoJson {
  if (name !== GREET.name)
    throw new DemoRpcError(INVALID_PARAMS_CODE, `Unknown prompt: ${String(name)}`)
  const { name: who } = jsonObjectOrEmpty(given)
  if (typeof who !== 'string') throw new DemoRpcError(INVALID_PARAMS_CODE, 'expected name: string')
  const content = { type: 'text', text: `Please greet ${who} in one short sentence.` }
  return { messages: [{ role: 'user', content }] }
}

function readResource({ uri }: DemoJson): DemoJson {
  if (uri === README.uri) return { contents: [{ ...README, text: README_TEXT }] }
  const n = /^demo:\/\/square\/(\d{1,9})$/.exec(String(uri))?.[1]
  if (n === undefined)
    throw new DemoRpcError(NO_SUCH_RESOURCE, `Resource not found: ${String(uri)}`)
  return { contents: [{ uri, mimeType: SQUARE.mimeType, text: String(BigInt(n) ** 2n) }] }
}

function complete({ ref, argument }: DemoJson): DemoJson {
  const { name, value } = jsonObjectOrEmpty(argument)
  const isGreeted = jsonObjectOrEmpty(ref)['name'] === GREET.name && name === 'name'
  const start = String(value).toLowerCase()
  const values = isGreeted ? NAMES.filter((one) => one.toLowerCase().startsWith(start)) : []
  return { completion: { values, total: values.length, hasMore: false } }
}

peer.listen(process.stdin)
