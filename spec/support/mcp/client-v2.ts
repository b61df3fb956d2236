// Clients of the second SDK.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ClientOptions } from '@modelcontextprotocol/client'
import { deadline } from '../deadline.ts'
import { CAPABILITIES, JudgeClient } from './judge-client.ts'
import type { Answers } from './judge-client.ts'

const WAIT_MS = 30_000

export async function connectV2(
  url: URL,
  { name, sample, root }: Answers,
  options: ClientOptions = {},
): Promise<JudgeClient> {
  const transport = new StreamableHTTPClientTransport(url)
  const client = new Client({ name, version: '1' }, { capabilities: CAPABILITIES, ...options })
  const judge = new JudgeClient({
    client,
    call: (tool, given, callOptions) =>
      client.callTool({ name: tool, arguments: { ...given } }, callOptions),
    version: () => client.getNegotiatedProtocolVersion(),
    sessionId: () => transport.sessionId,
    terminate: () => transport.terminateSession(),
  })
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    model: 'judge',
    content: { type: 'text', text: sample },
  }))
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { username: name, email: `${name}@example.com` },
  }))
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: root }] }))
  client.fallbackNotificationHandler = async (notification) => judge.record(notification)
  client.onerror = (error) => judge.errors.push(error)
  await deadline(client.connect(transport), WAIT_MS, 'a session')
  return judge
}
