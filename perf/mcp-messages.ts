// The MCP messages that client and server exchange. spec/perf/mcp-messages.spec.ts checks them.

export const PROTOCOL_VERSION = '2025-06-18'

const TEXT =
  'A proxy that relays a streaming answer passes each chunk on in the tick in which it came, ' +
  'holds nothing back, and stops reading when the reader on the other side stops. Page '

export const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'perf', version: '1.0.0' },
  },
})

export const INITIALIZED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })

const CALL_BEFORE = '{"jsonrpc":"2.0","id":'
const CALL_BETWEEN =
  ',"method":"tools/call","params":{"name":"search_documents","arguments":' +
  '{"query":"how does a proxy relay a streaming answer","limit":10,"page":'
const CALL_AFTER = '}}}'

/** A tool call of about 170 bytes, as a client writes it. It asks for its own page, by its id. */
export function callText(id: number): string {
  return CALL_BEFORE + id + CALL_BETWEEN + id + CALL_AFTER
}

const ANSWER_BETWEEN = `,"result":{"content":[{"type":"text","text":"${TEXT}`
const ANSWER_AFTER = '"}],"isError":false}}'

/** The tool's response, about 270 bytes; the id is the caller's, as JSON. */
export function answerText(id: string, page: number): string {
  return CALL_BEFORE + id + ANSWER_BETWEEN + page + ANSWER_AFTER
}

/** What is wrong with the response to a call, or null: it must have the right id and the requested page. */
export function answerFault(text: string, id: number): string | null {
  const message = JSON.parse(text) as {
    id?: unknown
    result?: { content?: { text?: unknown }[] }
  }
  if (message.id !== id) return `call ${id} got the answer to ${String(message.id)}`
  const isPage = message.result?.content?.[0]?.text === TEXT + id
  return isPage ? null : `call ${id} was answered: ${text.slice(0, 400)}`
}
