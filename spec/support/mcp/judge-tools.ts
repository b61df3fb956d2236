// Additional tools for our own judges, which show the server's side.

import { setTimeout as delay } from 'node:timers/promises'
import { ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { text } from './fixture-tools.ts'
import type { FixtureTool, ToolCall } from './fixture-tools.ts'

/** Calls to `hold` by label; each is settled when it was cancelled. */
const held = new Map<string, Promise<unknown>>()

export const JUDGE_TOOLS: Record<string, FixtureTool> = {
  echo: { description: 'Returns `text` after `delayMs`', run: echo },
  hold: {
    description: 'Answers only after it is cancelled, when the client no longer waits',
    run: hold,
  },
  cancelled: {
    description: 'Answers when the call to hold with this `label` was cancelled',
    run: async ({ given }) => {
      await held.get(String(given['label']))
      return text('cancelled')
    },
  },
  roots: { description: "Returns the client's roots", run: roots },
  touch: {
    description: 'Notifies that `uri` was updated, if the client is subscribed to it',
    run: touch,
  },
  change: { description: 'Notifies that all lists have changed', run: change },
  whoami: {
    description: 'Returns the name and version of the client',
    run: ({ server }) => text(JSON.stringify(server.getClientVersion())),
  },
}

async function echo({ given }: ToolCall): Promise<CallToolResult> {
  await delay(Number(given['delayMs'] ?? 0))
  return text(String(given['text']))
}

async function hold({ given, extra }: ToolCall): Promise<CallToolResult> {
  const label = String(given['label'])
  const cancelled = new Promise((resolve) => extra.signal.addEventListener('abort', resolve))
  held.set(label, cancelled)
  await extra.sendNotification({
    method: 'notifications/message',
    params: { level: 'info', data: `holding ${label}` },
  })
  await cancelled
  return text('too late')
}

async function roots({ extra }: ToolCall): Promise<CallToolResult> {
  const result = await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema)
  return text(result.roots.map(({ uri }) => uri).join(' '))
}

async function touch({ server, given, subscribed }: ToolCall): Promise<CallToolResult> {
  const uri = String(given['uri'])
  if (!subscribed.has(uri)) return text('not subscribed')
  // Not part of a call: it belongs on the stand-alone stream.
  await server.sendResourceUpdated({ uri })
  return text('notified')
}

async function change({ server }: ToolCall): Promise<CallToolResult> {
  await server.sendToolListChanged()
  await server.sendPromptListChanged()
  await server.sendResourceListChanged()
  return text('notified')
}
