// A hostile MCP server over standard input and output: all its texts contain markup and scripts.
//   node hostile-mcp.js

import { IMAGE, KEYS, LINK, PICTURE, SCRIPT, TURNED } from '../ui/hostile.ts'
import { Peer, Refusal } from './peer.ts'
import type { Call, Json, Methods } from './peer.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const TOOL = {
  name: 'attack',
  title: `title ${SCRIPT}`,
  description: `description ${IMAGE} ${TURNED}`,
  annotations: { title: IMAGE, readOnlyHint: true },
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries([
      ...KEYS.map((name) => [name, { type: 'string', title: SCRIPT, description: IMAGE }]),
      ['choice', { type: 'string', enum: [SCRIPT, LINK], default: LINK }],
      ['link', { type: 'string', format: 'uri', default: LINK }],
    ]) as Json,
  },
}

const RESULT = {
  content: [
    { type: 'text', text: `text ${SCRIPT} ${IMAGE}` },
    { type: 'text', text: JSON.stringify(Object.fromEntries(KEYS.map((name) => [name, SCRIPT]))) },
    { type: 'image', data: base64(PICTURE), mimeType: 'image/svg+xml' },
    { type: 'image', data: IMAGE, mimeType: `image/png${IMAGE}` },
    { type: 'audio', data: IMAGE, mimeType: SCRIPT },
    { type: 'resource_link', uri: LINK, name: `link ${IMAGE}`, description: SCRIPT },
    { type: 'resource', resource: { uri: LINK, mimeType: 'text/html', text: SCRIPT } },
    { type: SCRIPT, [IMAGE]: LINK },
  ],
  structuredContent: Object.fromEntries(KEYS.map((name) => [name, { [SCRIPT]: IMAGE }])) as Json,
}

const METHODS: Methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
    serverInfo: { name: IMAGE, title: `server ${SCRIPT}`, version: IMAGE },
    instructions: `instructions ${IMAGE} ${LINK}`,
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: [TOOL, { name: IMAGE, description: SCRIPT, inputSchema: SCRIPT }],
  }),
  'tools/call': attack,
  'prompts/list': () => ({
    prompts: [{ name: SCRIPT, title: IMAGE, arguments: KEYS.map((name) => ({ name })) }],
  }),
  'prompts/get': () => ({
    description: IMAGE,
    messages: [{ role: SCRIPT, content: { type: 'text', text: `said ${IMAGE}` } }],
  }),
  'resources/list': () => ({
    resources: [{ uri: LINK, name: SCRIPT, description: IMAGE, mimeType: 'text/html' }],
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: `${LINK}{+more}`, name: IMAGE }],
  }),
  'resources/read': () => ({
    contents: [{ uri: LINK, mimeType: 'text/html', text: `read ${IMAGE}` }],
  }),
  'logging/setLevel': () => ({}),
}

function attack({ name }: Json, { id }: Call): Json {
  process.stderr.write(`stderr ${IMAGE} ${TURNED}\n`)
  peer.notify('notifications/message', { level: SCRIPT, logger: IMAGE, data: { [IMAGE]: SCRIPT } })
  if (name !== 'attack') throw new Refusal(-32000, `refused ${String(id)} ${IMAGE} ${SCRIPT}`)
  return RESULT
}

const peer = new Peer(METHODS)
peer.listen()
