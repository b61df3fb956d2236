// Clients of the first SDK, over Streamable HTTP and over the legacy transport.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { deadline } from '../deadline.ts'
import { CAPABILITIES, JudgeClient } from './judge-client.ts'
import type { Answers, Means } from './judge-client.ts'

const WAIT_MS = 30_000

export async function connectV1(url: URL, answers: Answers): Promise<JudgeClient> {
  const transport = new StreamableHTTPClientTransport(url)
  return open(transport, answers, {
    version: () => transport.protocolVersion,
    sessionId: () => transport.sessionId,
    terminate: () => transport.terminateSession(),
  })
}

/** The session ends with its stream. */
export async function connectLegacy(url: URL, answers: Answers): Promise<JudgeClient> {
  const transport = new SSEClientTransport(url)
  return open(transport, answers, {
    version: () => undefined,
    sessionId: () => undefined,
    terminate: () => transport.close(),
  })
}

async function open(
  transport: StreamableHTTPClientTransport | SSEClientTransport,
  { name, sample, root }: Answers,
  means: Omit<Means, 'client' | 'call'>,
): Promise<JudgeClient> {
  const client = new Client({ name, version: '1' }, { capabilities: CAPABILITIES })
  const judge = new JudgeClient({
    ...means,
    client,
    call: (tool, given, options) =>
      client.callTool({ name: tool, arguments: { ...given } }, undefined, options),
  })
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    model: 'judge',
    content: { type: 'text', text: sample },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { username: name, email: `${name}@example.com` },
  }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: root }] }))
  client.fallbackNotificationHandler = async (notification) => judge.record(notification)
  client.onerror = (error) => judge.errors.push(error)
  // The SDK sets optional members to undefined, which its own interface does not allow.
  await deadline(client.connect(transport as Transport), WAIT_MS, 'a session')
  return judge
}
