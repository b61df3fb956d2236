// SIGTERM with a request in every phase: requests that can finish do, all others are cut at the deadline, and no child
// process remains.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { McpClient, server } from '../forward/mcp/mcp-client.ts'
import type { Answer } from '../forward/mcp/mcp-client.ts'
import { isRunning } from '../forward/mcp/stdio/owner.ts'
import type { Backend, Step } from '../support/backend.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { chatEventsOf, LlmBackend, LlmStream } from '../support/llm-backend.ts'
import { CHAT, chatAsking } from '../support/llm/asking.ts'
import { Program } from '../support/program.ts'
import type { RawClient } from '../support/raw-client.ts'
import { HEAD, OK, parseSeen, requestTextOf, until, assertNoHandleLeft } from './fault-support.ts'

const faults = suite('SIGTERM in every phase')
const stage = new Stage()
assertNoHandleLeft(faults)
faults.after.each(() => stage.clear())

const UPLOAD = `POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\npart`
const BEGUN = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n'
const EVENTS = `${BEGUN}content-type: text/event-stream\r\n\r\n9\r\ndata: 1\n\n\r\n`

const SCRIPTS: Record<string, Step[]> = {
  upload: [{ wait: /part/ }, { wait: /rest/ }, { send: OK }],
  waiting: [{ wait: HEAD }, { hold: true }, { send: OK }],
  answer: [
    { wait: HEAD },
    { send: `${BEGUN}\r\n4\r\nsome\r\n` },
    { hold: true },
    { send: '4\r\nmore\r\n0\r\n\r\n' },
  ],
  events: [{ wait: HEAD }, { send: EVENTS }, { hold: true }, { send: '0\r\n\r\n' }],
}

interface RequestsInPhases {
  readonly program: Program
  readonly backends: Record<string, Backend>
  readonly clients: Record<string, RawClient>
  readonly stream: LlmStream
  readonly call: Answer
  readonly child: number
}

async function startGateway(
  deadline: string,
  workers: number,
): Promise<[Program, number, Record<string, Backend>, LlmStream]> {
  const folder = stage.add(new Folder())
  const port = await freePort()
  const backends: Record<string, Backend> = {}
  for (const [name, script] of Object.entries(SCRIPTS)) backends[name] = await stage.backend(script)
  const stream = new LlmStream()
  const llm = stage.add(await LlmBackend.start(stream.answer))
  const routes = Object.entries(backends).map(
    ([name, backend]) =>
      `- { matches: [{ path: { exact: /${name} } }], backends: [{ host: 127.0.0.1:${backend.port} }] }`,
  )
  const ai = `{ name: p, provider: { openAI: {} }, hostOverride: "127.0.0.1:${llm.port}" }`
  const file = folder.write(
    'config.yaml',
    `config: { workers: ${workers}, connectionTerminationDeadline: ${deadline} }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
${routes.join('\n')}
- { matches: [{ path: { exact: /mcp } }], backends: [{ mcp: { targets: [${server('one')}] } }] }
- matches: [{ path: { pathPrefix: /v1 } }]
  backends: [{ ai: ${ai} }]
  policies: { rateLimit: { local: [{ tokens: 1000, unit: Hours }] } }
`,
  )
  const program = new Program('gateway', ['-f', file])
  stage.add({ close: () => program.kill() })
  await program.prints((text) => text.split('started bind').length > workers)
  return [program, port, backends, stream]
}

/** Starts one request for each phase, and waits until each has reached it. */
async function startRequests(deadline: string, workers = 1): Promise<RequestsInPhases> {
  const [program, port, backends, stream] = await startGateway(deadline, workers)
  const clients: Record<string, RawClient> = {}
  const send = async (name: string, text: string): Promise<RawClient> => {
    const client = await stage.client({ port, host: '127.0.0.1' })
    if (text !== '') client.send(text)
    return (clients[name] = client)
  }
  const mcp = await McpClient.open(stage, { port })
  const child = Number(await mcp.textOf('pid'))
  const call = await mcp.call('slow', { ms: deadline === '20s' ? 500 : 60_000 })
  await send('silent', '')
  await send('head', 'GET /waiting HTTP/1.1\r\nho')
  await send('upload', UPLOAD)
  await send('waiting', requestTextOf({ path: '/waiting' }))
  await (await send('answer', requestTextOf({ path: '/answer' }))).until(/some\r\n$/)
  await (await send('events', requestTextOf({ path: '/events' }))).until(/data: 1/)
  const llm = await send('llm', requestTextOf({ path: CHAT, body: chatAsking({ stream: true }) }))
  await stream.opened()
  await stream.send(chatEventsOf(30, 12)[1]!)
  await llm.until(/"content"/)
  await backends['upload']!.until((text) => text.endsWith('part'))
  await backends['waiting']!.until((text) => HEAD.test(text))
  return { program, backends, clients, stream, call, child }
}

/** Path, status and outcome of every logged request, sorted. */
function logged({ stdout }: Program): string[] {
  const lines = stdout.split('\n').filter((line) => line.includes('\trequest '))
  const field = (line: string, name: string): string =>
    new RegExp(` ${name}=(\\S+)`).exec(line)?.[1] ?? '-'
  return lines
    .map((line) =>
      ['http.path', 'http.status', 'outcome'].map((name) => field(line, name)).join(' '),
    )
    .sort()
}

/** Connections without a request close at once. */
async function bareConnectionsClose({ clients }: RequestsInPhases): Promise<void> {
  for (const name of ['silent', 'head']) assert.is(await clients[name]!.untilClosed(), '')
}

const MCP_LINES = ['/mcp 200 complete', '/mcp 200 complete', '/mcp 202 complete']

for (const workers of [1, 2])
  faults(`lets requests finish, with ${workers} workers`, async () => {
    const inPhases = await startRequests('20s', workers)
    const { program, backends, clients, stream, call, child } = inPhases
    program.signal('SIGTERM')
    await program.prints(/shutting down/)
    await bareConnectionsClose(inPhases)
    clients['upload']!.send('rest')
    for (const name of ['waiting', 'answer', 'events']) backends[name]!.release()
    for (const event of chatEventsOf(30, 12).slice(2)) await stream.send(event)
    stream.end()
    for (const name of ['upload', 'waiting', 'answer', 'events', 'llm']) {
      const seen = parseSeen(await clients[name]!.untilClosed())
      assert.equal([name, seen.status, seen.end], [name, 200, 'whole'])
      clients[name]!.destroy()
    }
    await call.whole()
    call.raw.destroy()
    assert.is(await program.exit(), 0)
    assert.not(isRunning(child))
    const paths = ['/answer', '/events', '/upload', `${CHAT}`, '/waiting']
    assert.equal(
      logged(program),
      [...paths.map((path) => `${path} 200 complete`), ...MCP_LINES, '/mcp 200 complete'].sort(),
    )
    assert.match(program.stdout, / gen_ai\.usage\.output_tokens=12 /)
    assert.match(program.stdout, /stopped\n$/)
    assert.is(program.stderr, '')
  })

faults('cuts all other requests at the deadline', async () => {
  const inPhases = await startRequests('200ms')
  const { program, backends, clients, stream, call, child } = inPhases
  program.signal('SIGTERM')
  await bareConnectionsClose(inPhases)
  for (const name of ['upload', 'waiting', 'answer', 'events', 'llm'])
    assert.is(parseSeen(await clients[name]!.untilClosed()).end, 'cut', name)
  await call.raw.untilClosed()
  assert.is(await program.exit(), 0)
  for (const { connections } of Object.values(backends)) await connections[0]!.untilClosed()
  await until(() => stream.state === 'left', 'the call to the provider to end')
  await until(() => !isRunning(child), 'the child to end')
  assert.equal(
    logged(program),
    [
      ...MCP_LINES,
      '/mcp 200 shutdown',
      '/answer 200 shutdown',
      '/events 200 shutdown',
      '/upload - shutdown',
      `${CHAT} 200 shutdown`,
      '/waiting - shutdown',
    ].sort(),
  )
  // The cost of a cut request is still logged.
  assert.match(program.stdout, /chat\/completions .* gen_ai\.usage\.estimated=\d+ .*=shutdown/)
  assert.match(program.stdout, /stopped\n$/)
})

faults.run()
