// The tools that the conformance suite expects, with their names and texts.

import { setTimeout as delay } from 'node:timers/promises'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import { CreateMessageResultSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type {
  CallToolResult,
  ContentBlock,
  ElicitRequestFormParams,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'

/** The context of a tool call. */
export interface ToolCall {
  readonly server: Server
  readonly extra: RequestHandlerExtra<ServerRequest, ServerNotification>
  readonly given: Record<string, unknown>
  /** URIs the client has subscribed to. */
  readonly subscribed: ReadonlySet<string>
}

export interface FixtureTool {
  readonly description: string
  readonly inputSchema?: { type: 'object'; [key: string]: unknown }
  readonly run: (call: ToolCall) => CallToolResult | Promise<CallToolResult>
}

const PAUSE_MS = 50

/** One red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** Silence. */
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const IMAGE: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' }

export const SUITE_TOOLS: Record<string, FixtureTool> = {
  test_simple_text: {
    description: 'Returns text',
    run: () => text('This is a simple text response for testing.'),
  },
  test_image_content: { description: 'Returns an image', run: () => ({ content: [IMAGE] }) },
  test_audio_content: {
    description: 'Returns audio',
    run: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Returns a resource',
    run: () => ({
      content: [
        resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
      ],
    }),
  },
  test_multiple_content_types: {
    description: 'Returns text, an image and a resource',
    run: () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        IMAGE,
        resource(
          'test://mixed-content-resource',
          'application/json',
          '{"test":"data","value":123}',
        ),
      ],
    }),
  },
  test_tool_with_logging: { description: 'Logs while it runs', run: logThrice },
  test_tool_with_progress: { description: 'Reports its progress', run: tellProgress },
  test_error_handling: {
    description: 'Fails',
    run: () => ({
      ...text('This tool intentionally returns an error for testing'),
      isError: true,
    }),
  },
  test_sampling: {
    description: 'Asks the client for a sample',
    inputSchema: {
      type: 'object',
      properties: { prompt: { type: 'string' } },
      required: ['prompt'],
    },
    run: sample,
  },
  test_elicitation: {
    description: 'Asks the user',
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    },
    run: async (call) => text(`User response: ${await elicit(call, USER)}`),
  },
  test_elicitation_sep1034_defaults: {
    description: 'Asks the user, with an answer proposed for each kind of field',
    run: async (call) => text(`Elicitation completed: ${await elicit(call, DEFAULTS)}`),
  },
  test_elicitation_sep1330_enums: {
    description: 'Asks the user to choose, with each kind of enum',
    run: async (call) => text(`Elicitation completed: ${await elicit(call, ENUMS)}`),
  },
  json_schema_2020_12_tool: {
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: ({ given }) => text(JSON.stringify(given)),
  },
  test_reconnection: {
    description: 'Closes the stream of its call, if there is one, before it answers',
    run: async ({ extra }) => {
      extra.closeSSEStream?.()
      await delay(2 * PAUSE_MS)
      return text('Reconnection test completed')
    },
  },
}

export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}

function resource(uri: string, mimeType: string, content: string): ContentBlock {
  return { type: 'resource', resource: { uri, mimeType, text: content } }
}

async function logThrice({ extra }: ToolCall): Promise<CallToolResult> {
  for (const data of [
    'Tool execution started',
    'Tool processing data',
    'Tool execution completed',
  ]) {
    await extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', data },
    })
    await delay(PAUSE_MS)
  }
  return text('Logged three times.')
}

async function tellProgress({ extra }: ToolCall): Promise<CallToolResult> {
  const progressToken = extra._meta?.progressToken
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      })
    await delay(PAUSE_MS)
  }
  return text(`Progress token: ${progressToken ?? 'none'}`)
}

async function sample({ extra, given }: ToolCall): Promise<CallToolResult> {
  const content = { type: 'text', text: String(given['prompt']) } as const
  const { content: answer } = await extra.sendRequest(
    {
      method: 'sampling/createMessage',
      params: { messages: [{ role: 'user', content }], maxTokens: 100 },
    },
    CreateMessageResultSchema,
  )
  return text(`LLM response: ${'text' in answer ? answer.text : answer.type}`)
}

type Schema = ElicitRequestFormParams['requestedSchema']

async function elicit({ extra, given }: ToolCall, requestedSchema: Schema): Promise<string> {
  const { message = 'Please fill this in' } = given
  const { action, content } = await extra.sendRequest(
    { method: 'elicitation/create', params: { message: String(message), requestedSchema } },
    ElicitResultSchema,
  )
  return `action=${action}, content=${JSON.stringify(content ?? {})}`
}

const USER: Schema = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
}

const DEFAULTS: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
}

const titled = (noun: string): { const: string; title: string }[] => [
  { const: 'value1', title: `First ${noun}` },
  { const: 'value2', title: `Second ${noun}` },
  { const: 'value3', title: `Third ${noun}` },
]

const OPTIONS = ['option1', 'option2', 'option3']

const ENUMS: Schema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
}
