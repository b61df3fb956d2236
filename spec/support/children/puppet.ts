// An MCP server that writes exactly the bytes that a spec chooses, so that a spec can test the gateway with any fault.
//   node puppet.js [--answers '{"tools/list":{"tools":[]}}'] [--greeting answer|never|refuse|exit]
//     [--delay 1000] [--list text] [--mute method] [--capabilities '{"tools":{}}']
// Its tools, in addition to those that `answers` lists:
//   say    writes `text`, in which $ID is the id of this call; then exits, if `code` is given
//   pour   writes `count` notifications of `bytes` bytes, progress unless `method` is given, and answers
//   line   answers with the line of the call
//   lines  answers with all received lines that were not requests
//   stay   ignores SIGTERM and the end of its input from now on, and starts another process that does the same

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { childFile } from './child-file.ts'
import type { Json } from './peer.ts'

const { values } = parseArgs({
  options: {
    /** Results by method, or by method and cursor. */
    answers: { type: 'string', default: '{}' },
    greeting: { type: 'string', default: 'answer' },
    /** Milliseconds before it answers `initialize`. */
    delay: { type: 'string', default: '0' },
    /** A method that it does not answer. */
    mute: { type: 'string', default: '' },
    /** The text that answers tools/list, in which $ID is the id. */
    list: { type: 'string' },
    capabilities: { type: 'string', default: '{"tools":{},"prompts":{},"resources":{}}' },
  },
})

const answers = JSON.parse(values.answers) as Json
const received: string[] = []

const TOOLS: Record<string, (given: Json, id: unknown, line: string) => void> = {
  say: ({ text = '', code }, id) => {
    process.stdout.write(filled(String(text), id), () => {
      if (typeof code === 'number') process.exit(code)
    })
  },
  pour: ({ count, bytes, method = 'notifications/progress' }, id) => {
    const fill = 'x'.repeat(Number(bytes))
    for (let n = 0; n < Number(count); n++) send({ method, params: { progressToken: 1, n, fill } })
    answer(id, {})
  },
  line: (_given, id, line) => answerText(id, line),
  lines: (_given, id) => answerText(id, JSON.stringify(received)),
  stay: (_given, id) => {
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 60_000)
    const { pid } = spawn(process.execPath, [childFile('faults'), 'stubborn'], { stdio: 'ignore' })
    answerText(id, JSON.stringify([process.pid, pid]))
  },
}

function filled(text: string, id: unknown): string {
  return text.replaceAll('$ID', JSON.stringify(id))
}

function initialize(id: unknown, { protocolVersion }: Json): void {
  if (values.greeting === 'never') return
  if (values.greeting === 'exit') process.exit(7)
  if (values.greeting === 'refuse') return send({ id, error: { code: -32603, message: 'not now' } })
  const capabilities = JSON.parse(values.capabilities) as Json
  const serverInfo = { name: 'puppet', version: '1.0.0' }
  answer(id, { protocolVersion, capabilities, serverInfo })
}

function handleLine(line: string): void {
  const { id, method, params } = JSON.parse(line) as Json
  if (id === undefined || typeof method !== 'string') return void received.push(line)
  if (method === values.mute) return
  const given = (params ?? {}) as Json
  const { cursor, name } = given
  const prepared = answers[typeof cursor === 'string' ? `${method} ${cursor}` : method]
  const tool = method === 'tools/call' ? TOOLS[String(name)] : undefined
  if (method === 'initialize') setTimeout(initialize, Number(values.delay), id, given)
  else if (method === 'tools/list' && values.list !== undefined)
    process.stdout.write(filled(values.list, id))
  else if (tool !== undefined) tool((given['arguments'] ?? {}) as Json, id, line)
  else if (prepared !== undefined) answer(id, prepared)
  else if (method === 'ping' || method === 'tools/call') answer(id, {})
  else send({ id, error: { code: -32601, message: `method not found: ${method}` } })
}

function answerText(id: unknown, text: string): void {
  answer(id, { content: [{ type: 'text', text }] })
}

function answer(id: unknown, result: unknown): void {
  send({ id, result })
}

function send(message: Json): void {
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
}

createInterface({ input: process.stdin }).on('line', handleLine)
