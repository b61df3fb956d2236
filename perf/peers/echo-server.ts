// The MCP server that every MCP peer runs: newline-delimited JSON-RPC on stdio, one tool, no SDK,
// with almost no work per call, so that the server is not what is measured.
import { Socket } from 'node:net'
import { answerText } from '../mcp-messages.ts'

type Request = {
  id?: number | string
  method?: string
  params?: { protocolVersion?: string; arguments?: { page?: number } }
}

const TOOL = { name: 'search_documents', inputSchema: { type: 'object' } }
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** The start of a line that is not complete yet. */
let begun = ''

/** All responses to one read leave in one write. */
function read(count: number): boolean {
  const lines = (begun + READ_BUFFER.toString('latin1', 0, count)).split('\n')
  begun = lines.pop() ?? ''
  let answers = ''
  for (const line of lines) answers += answerTo(JSON.parse(line) as Request)
  if (answers !== '') process.stdout.write(answers, 'latin1')
  return true
}

function answerTo({ id, method, params }: Request): string {
  if (id === undefined) return ''
  if (method === 'tools/call')
    return `${answerText(JSON.stringify(id), params?.arguments?.page ?? 0)}\n`
  const result = resultOf(method, params?.protocolVersion)
  const error = { code: -32601, message: 'Method not found' }
  return `${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`
}

function resultOf(method: string | undefined, protocolVersion: string | undefined) {
  if (method === 'ping') return {}
  if (method === 'tools/list') return { tools: [TOOL] }
  if (method !== 'initialize') return undefined
  const serverInfo = { name: 'echo', version: '1.0.0' }
  return { protocolVersion, capabilities: { tools: {} }, serverInfo }
}

const onread = { buffer: READ_BUFFER, callback: read }
const options = { fd: 0, readable: true, writable: false, onread }
// The types allow `onread` only for outgoing connections.
const input = new Socket(options as ConstructorParameters<typeof Socket>[0])
// A proxy ends the server by closing its input.
input.on('end', () => process.exit(0))
input.on('error', () => process.exit(1))
input.resume()
