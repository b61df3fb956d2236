// A simple HTTP client of a protected MCP server, for specs that supply their own token, valid or not.

import { deadline } from '../deadline.ts'

const WAIT_MS = 30_000

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'judge', version: '1' },
  },
})
const PING = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'ping' })
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
const INITIALIZED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })

/** Sends any request; redirects are not followed. */
export async function ask(url: URL | string, init: RequestInit = {}): Promise<Answer> {
  const send = async (): Promise<Answer> => {
    const response = await fetch(url, { redirect: 'manual', ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return deadline(send(), WAIT_MS, `an answer of ${String(url)}`)
}

async function post(url: URL, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
}

export async function initialize(url: URL, token: string): Promise<Answer> {
  return post(url, INITIALIZE, { authorization: `Bearer ${token}` })
}

/** Sends a ping without a session, which starts no server: an admitted client gets 400 for the missing session. */
export async function checkAccess(url: URL, token: string): Promise<'admitted' | number> {
  const { status, text } = await post(url, PING, { authorization: `Bearer ${token}` })
  return status === 400 && /session/i.test(text) ? 'admitted' : status
}

/** Opens a session with the token, and returns the names of its tools. */
export async function tools(url: URL, token: string): Promise<string[]> {
  const { status, headers, text } = await initialize(url, token)
  const session = headers.get('mcp-session-id')
  if (status !== 200 || session === null) throw new Error(`no session: ${status} ${text}`)
  await inSession(url, token, session, INITIALIZED)
  const answer = await inSession(url, token, session, LIST)
  await ask(url, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${token}`, 'mcp-session-id': session },
  })
  const data = /^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text
  const { result } = JSON.parse(data) as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

export async function inSession(
  url: URL,
  token: string,
  session: string,
  message = LIST,
): Promise<Answer> {
  return post(url, message, { authorization: `Bearer ${token}`, 'mcp-session-id': session })
}
