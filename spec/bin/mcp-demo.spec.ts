// The bundled demo server as its clients see it: started and called by the SDK.

import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { LoggingMessageNotificationSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { VERSION } from '../../lib/core/version.ts'
import { deadline } from '../support/deadline.ts'
import { runProgram } from '../support/program.ts'
import { ROOT } from '../support/root.ts'

const WAIT_MS = 30_000

/** One session with its own server, which is ended in every case. */
async function withClient(use: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ name: 'spec', version: '1' })
  const args = [join(ROOT, 'dist/bin/mcp-demo.js')]
  try {
    const transport = new StdioClientTransport({ command: process.execPath, args })
    await deadline(client.connect(transport), WAIT_MS, 'the demo server to initialize')
    await deadline(use(client), WAIT_MS, 'the conversation with the demo server')
  } finally {
    await deadline(client.close(), WAIT_MS, 'the demo server to end')
  }
}

async function call(client: Client, name: string, given: object): Promise<unknown> {
  const params = { name, arguments: { ...given } }
  const { content, isError = false } = await client.callTool(params)
  const [{ text }] = content as [{ text: string }]
  return isError === true ? { error: text } : text
}

async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: number }> {
  return promise.then(
    () => assert.unreachable('no error') as never,
    (error: Error) => error,
  )
}

const demo = suite('mcp-demo')

demo('returns its name and capabilities', async () => {
  await withClient(async (client) => {
    const { name, title, version } = client.getServerVersion() ?? {}
    assert.equal([name, title, version], ['gateway-demo', 'Demo server of the gateway', VERSION])
    assert.match(client.getInstructions() ?? '', /slow_count/)
    const { tools } = await client.listTools()
    assert.equal(
      tools.map((tool) => tool.name),
      ['echo', 'add', 'time', 'slow_count'],
    )
    assert.equal(await client.ping(), {})
  })
})

demo('accepts any version it supports, and otherwise answers with its latest', async () => {
  const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2077-01-01']
  const lines = versions.map((protocolVersion) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion } }),
  )
  const { code, stdout, stderr } = await runProgram('mcp-demo', [], {}, lines.join('\n') + '\n')
  assert.equal([code, stderr], [0, ''])
  const agreed = [...stdout.matchAll(/"protocolVersion":"([^"]+)"/g)].map(([, version]) => version)
  assert.equal(agreed, [...versions.slice(0, 4), '2025-11-25'])
})

demo('calls tools, and reports invalid input as a tool result', async () => {
  await withClient(async (client) => {
    assert.is(await call(client, 'echo', { text: 'naïve 漢字' }), 'naïve 漢字')
    assert.is(await call(client, 'add', { a: 2, b: 0.5 }), '2.5')
    const time = await call(client, 'time', { zone: 'Asia/Tokyo' })
    assert.match(String(time), /^\d{4}-\d\d-\d\d .* GMT\+9$/)
    assert.equal(await call(client, 'add', { a: 2, b: '2' }), { error: 'expected b: number' })
    assert.equal(await call(client, 'echo', {}), { error: 'expected text: string' })
    assert.equal(await call(client, 'slow_count', { to: 0 }), {
      error: 'expected to between 1 and 1000',
    })
    assert.match(JSON.stringify(await call(client, 'time', { zone: 'Mars' })), /time zone.*Mars/)
  })
})

demo('counts with progress and log messages, unless the client sets a higher level', async () => {
  await withClient(async (client) => {
    const logged: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      logged.push(params.data)
    })
    const seen: number[] = []
    const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
    const counting = { name: 'slow_count', arguments: { to: 5, delayMs: 20 } }
    await client.callTool(counting, undefined, { onprogress })
    // The SDK ignores progress that it reads together with the response.
    assert.ok(seen.length > 0)
    assert.equal(seen, [1, 2, 3, 4, 5].slice(0, seen.length))
    await client.setLoggingLevel('warning')
    assert.is(await call(client, 'slow_count', { to: 1, delayMs: 0 }), 'counted to 1')
    assert.equal(logged, ['counting to 5'])
  })
})

demo('stops counting when it is cancelled', async () => {
  await withClient(async (client) => {
    const abort = new AbortController()
    const given = { name: 'slow_count', arguments: { to: 1000, delayMs: 10_000 } }
    const options = { onprogress: () => abort.abort(), signal: abort.signal }
    const error = await errorOf(client.callTool(given, undefined, options))
    assert.match(error.message, /abort/i)
    assert.is(await call(client, 'echo', { text: 'still here' }), 'still here')
  })
})

demo('exits at the end of its input, also during a call', async () => {
  const params = { name: 'slow_count', arguments: { to: 1000, delayMs: 10_000 } }
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const { code, stdout } = await runProgram('mcp-demo', [], {}, `${line}\n`)
  assert.is(code, 0)
  assert.match(stdout, /"data":"counting to 1000"/)
  assert.not.match(stdout, /"id":1/)
})

demo('has a prompt, resources and completions', async () => {
  await withClient(async (client) => {
    const [prompt] = (await client.listPrompts()).prompts
    assert.is(prompt?.name, 'greet')
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })
    assert.match(JSON.stringify(messages), /greet Ada/)
    const ref = { type: 'ref/prompt', name: 'greet' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'a' } })
    assert.equal(completion.values, ['Ada', 'Alan'])
    assert.is((await client.listResources()).resources[0]?.uri, 'demo://readme')
    const { resourceTemplates } = await client.listResourceTemplates()
    assert.is(resourceTemplates[0]?.uriTemplate, 'demo://square/{n}')
    const { contents } = await client.readResource({ uri: 'demo://square/12' })
    assert.equal(contents, [{ uri: 'demo://square/12', mimeType: 'text/plain', text: '144' }])
  })
})

demo('answers unknown names with the errors of the protocol', async () => {
  await withClient(async (client) => {
    assert.is((await errorOf(client.request({ method: 'tasks/list' }, ResultSchema))).code, -32601)
    assert.is((await errorOf(client.callTool({ name: 'toString' }))).code, -32602)
    assert.is((await errorOf(client.getPrompt({ name: 'other' }))).code, -32602)
    assert.is((await errorOf(client.readResource({ uri: 'demo://square/x' }))).code, -32002)
  })
})

demo.run()
