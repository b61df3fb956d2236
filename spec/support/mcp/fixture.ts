// A server with all features that the conformance suite and our own judges need, for any transport.

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type {
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
} from '@modelcontextprotocol/sdk/types.js'
import { PNG, SUITE_TOOLS } from './fixture-tools.ts'
import { JUDGE_TOOLS } from './judge-tools.ts'

const TOOLS = new Map(Object.entries({ ...SUITE_TOOLS, ...JUDGE_TOOLS }))

const PROMPTS = [
  { name: 'test_simple_prompt', description: 'Without arguments' },
  {
    name: 'test_prompt_with_arguments',
    description: 'With two arguments',
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource in it',
    arguments: [{ name: 'resourceUri', description: 'Which resource', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'With an image in it' },
]

const RESOURCES = [
  { uri: 'test://static-text', name: 'static-text', description: 'Text', mimeType: 'text/plain' },
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'A PNG',
    mimeType: 'image/png',
  },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'May be subscribed to',
    mimeType: 'text/plain',
  },
]

const TEMPLATE = {
  uriTemplate: 'test://template/{id}/data',
  name: 'template',
  description: 'Data by id',
  mimeType: 'application/json',
}

const WORDS = ['paris', 'park', 'party', 'test-one', 'test-two']

export function fixtureServer(): Server {
  const server = new Server(
    { name: 'conformance-fixture', title: 'Conformance fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
        completions: {},
      },
      instructions: 'For tests only.',
    },
  )
  addTools(server, addResources(server))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: PROMPTS }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) =>
    promptOf(params.name, params.arguments ?? {}),
  )
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => {
    const values = WORDS.filter((word) => word.startsWith(params.argument.value))
    return { completion: { values, total: values.length, hasMore: false } }
  })
  return server
}

/** The URIs that are subscribed to. */
function addResources(server: Server): Set<string> {
  const subscribed = new Set<string>()
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: RESOURCES }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [TEMPLATE],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => resourceOf(params.uri))
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri)
    return {}
  })
  return subscribed
}

function addTools(server: Server, subscribed: ReadonlySet<string>): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...TOOLS].map(([name, { description, inputSchema = { type: 'object' as const } }]) => ({
      name,
      description,
      inputSchema,
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = TOOLS.get(params.name)
    if (tool === undefined)
      throw new McpError(ErrorCode.InvalidParams, `Unknown tool ${params.name}`)
    return tool.run({ server, extra, given: params.arguments ?? {}, subscribed })
  })
}

function resourceOf(uri: string): ReadResourceResult {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id !== undefined) {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  }
  if (uri === 'test://static-binary')
    return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] }
  if (!RESOURCES.some((resource) => resource.uri === uri))
    throw new McpError(-32002, `Resource not found: ${uri}`)
  const text = 'This is the content of the static text resource.'
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}

function promptOf(name: string, given: Record<string, string>): GetPromptResult {
  const prompt = (...contents: ContentBlock[]): GetPromptResult => ({
    messages: contents.map((content) => ({ role: 'user', content })),
  })
  const said = (text: string): ContentBlock => ({ type: 'text', text })
  const { arg1, arg2, resourceUri: uri = '' } = given
  const text = 'Embedded resource content for testing.'
  switch (name) {
    case 'test_simple_prompt':
      return prompt(said('This is a simple prompt for testing.'))
    case 'test_prompt_with_arguments':
      return prompt(said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))
    case 'test_prompt_with_embedded_resource':
      return prompt(
        { type: 'resource', resource: { uri, mimeType: 'text/plain', text } },
        said('Please process the embedded resource above.'),
      )
    case 'test_prompt_with_image':
      return prompt(
        { type: 'image', data: PNG, mimeType: 'image/png' },
        said('Please analyze the image above.'),
      )
    default:
      throw new McpError(ErrorCode.InvalidParams, `Unknown prompt ${name}`)
  }
}
