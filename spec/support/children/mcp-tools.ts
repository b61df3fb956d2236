// The tools of the MCP server for specs: each tests one feature that must pass through the gateway.

import type { Call, Json, Peer } from './peer.ts'

/** The context of a tool call. */
export interface ToolCall {
  readonly peer: Peer
  readonly call: Call
  readonly given: Json
  /** Absent if the client requests no progress. */
  readonly progressToken: unknown
  /** URIs the client subscribed to. */
  readonly subscribed: ReadonlySet<string>
}

interface Tool {
  readonly description: string
  readonly run: (call: ToolCall) => unknown
}

export const TOOLS: Record<string, Tool> = {
  echo: { description: 'Returns `text`', run: ({ given }) => text(given['text'] ?? '') },
  slow: { description: 'Answers after `ms`, or never when it is absent', run: slow },
  crash: {
    description: 'Ends the process with `code`, 3 unless given',
    run: ({ given }) => process.exit(Number(given['code'] ?? 3)),
  },
  notify: { description: 'Sends progress, a log message and three list changes', run: notify },
  ask: {
    description: 'Sends the request `method` to the client; a sampling request by default',
    run: ask,
  },
  env: {
    description: 'Returns the environment variable `name`; without it the names of all',
    run: ({ given: { name } }) =>
      text(
        typeof name === 'string'
          ? (process.env[name] ?? '<unset>')
          : Object.keys(process.env).sort().join(' '),
      ),
  },
  big: {
    description: 'Returns `bytes` bytes of text',
    run: ({ given }) => text('x'.repeat(Number(given['bytes'] ?? 0))),
  },
  pid: {
    description: 'Returns the process id, or with `of: parent` that of the parent process',
    run: ({ given }) => text(given['of'] === 'parent' ? process.ppid : process.pid),
  },
  heard: {
    description: 'Returns the notifications received so far, as JSON',
    run: ({ peer }) => text(JSON.stringify(peer.notifications)),
  },
  touch: {
    description: 'Notifies that `uri` was updated, if the client is subscribed to it',
    run: touch,
  },
}

export function text(value: unknown): Json {
  return { content: [{ type: 'text', text: String(value) }] }
}

/** A cancelled call gets no answer; a log message has its id and the reason. */
async function slow({ peer, call, given }: ToolCall): Promise<Json | undefined> {
  peer.notify('notifications/message', { level: 'info', logger: 'slow', data: 'started' })
  const { ms } = given
  if (typeof ms === 'number') {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return text(`waited ${ms} ms`)
  }
  const reason = await call.cancelled
  const data = { cancelled: call.id, reason }
  peer.notify('notifications/message', { level: 'info', logger: 'slow', data })
  return undefined
}

function notify({ peer, progressToken }: ToolCall): Json {
  if (progressToken !== undefined)
    for (const progress of [1, 2])
      peer.notify('notifications/progress', { progressToken, progress, total: 2 })
  peer.notify('notifications/message', { level: 'info', logger: 'notify', data: 'a message' })
  for (const list of ['tools', 'resources', 'prompts'])
    peer.notify(`notifications/${list}/list_changed`)
  return text('notified')
}

const QUESTIONS: Json = {
  'sampling/createMessage': {
    messages: [{ role: 'user', content: { type: 'text', text: 'What is six times seven?' } }],
    maxTokens: 16,
  },
  'elicitation/create': {
    message: 'Which colour?',
    requestedSchema: { type: 'object', properties: { colour: { type: 'string' } } },
  },
  'roots/list': {},
}

async function ask({ peer, given }: ToolCall): Promise<Json> {
  const method = typeof given['method'] === 'string' ? given['method'] : 'sampling/createMessage'
  const { result, error } = await peer.ask(method, (QUESTIONS[method] ?? {}) as Json)
  return text(JSON.stringify(result ?? error))
}

function touch({ peer, given, subscribed }: ToolCall): Json {
  const uri = String(given['uri'])
  if (!subscribed.has(uri)) return text('not subscribed')
  peer.notify('notifications/resources/updated', { uri })
  return text('updated')
}
