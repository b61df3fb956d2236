// Links to servers of the SDK, and to one with HTTP/2.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SseLink } from '../../../../lib/forward/mcp/remote/sse-link.ts'
import type { RemoteTargetContext } from '../../../../lib/forward/mcp/remote/remote-target.ts'
import { StreamableLink } from '../../../../lib/forward/mcp/remote/streamable-link.ts'
import type { TargetLink, OutgoingMessage } from '../../../../lib/forward/mcp/target-link.ts'
import { deadline } from '../../../support/deadline.ts'
import { Stage } from '../../../support/gateway.ts'
import { http2Backend } from '../../../support/http2-backend.ts'
import {
  LinkRecorder,
  INITIALIZED,
  PROGRESS,
  event,
  remoteAt,
  request,
  result,
} from './link-stage.ts'
import { Events, SdkServer } from './sdk-server.ts'

const sdk = suite('forward/mcp/remote/sdk')
const stage = new Stage()
sdk.after.each(() => stage.clear())

function message(number: number, method: string, params: unknown): OutgoingMessage {
  const id = number === 0 ? {} : { id: number }
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...id, method, params }))
  return { bytes, number, fields: [] }
}

function call(number: number, name: string): OutgoingMessage {
  return message(number, 'tools/call', { name, _meta: { progressToken: 't' } })
}

async function begin(
  link: TargetLink,
  recorder: LinkRecorder,
  version = '2025-06-18',
): Promise<void> {
  const clientInfo = { name: 'spec', version: '1' }
  link.send(message(1, 'initialize', { protocolVersion: version, capabilities: {}, clientInfo }))
  assert.match((await recorder.count(1))[0]!, `"protocolVersion":"${version}"`)
  link.send(INITIALIZED)
  recorder.recorded.length = 0
}

/** Closes the link and checks that no resource is left on either side. */
async function end(
  link: TargetLink,
  recorder: LinkRecorder,
  { pool }: RemoteTargetContext,
  server: SdkServer,
): Promise<void> {
  link.close()
  await deadline(
    until(() => server.sessions.size === 0),
    30_000,
    'the session to end',
  )
  pool.close()
  await deadline(
    until(() => server.sockets.size === 0),
    30_000,
    'connections to end',
  )
  assert.is(recorder.recorded.at(-1), "closed: the link to target 'x' was closed")
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** The number, and the method or text of the result. */
function gist(heard: readonly string[]): string[] {
  return heard.map((what) => {
    const [, number, json] = /^(\d+): (.*)$/.exec(what) ?? []
    if (json === undefined) return what
    const { method, result: said } = JSON.parse(json) as {
      method?: string
      result?: { content?: { text: string }[] }
    }
    return `${number} ${method ?? said?.content?.[0]?.text ?? 'result'}`
  })
}

function pong(recorder: LinkRecorder): OutgoingMessage {
  const asked = recorder.recorded.find((what) => what.includes('"ping"'))!
  const { id } = JSON.parse(asked.replace(/^\d+: /, '')) as { id: number }
  return { bytes: Buffer.from(result(id)), number: 0, fields: [] }
}

sdk('carries calls, progress, server requests and notifications by event streams', async () => {
  const server = await SdkServer.start(stage)
  const [remote, recorder] = [remoteAt(stage, server.port), new LinkRecorder()]
  const link = stage.add(new StreamableLink(remote, recorder))
  await begin(link, recorder)
  link.listen([])
  link.send(call(2, 'ask'))
  await recorder.count(2)
  link.send(pong(recorder))
  assert.equal(gist(await recorder.count(3)), ['2 notifications/progress', '2 ping', '2 ask'])
  await deadline(
    until(() => server.streams[0]?.headersSent === true),
    30_000,
    'a stream next to the calls',
  )
  await server.server!.sendToolListChanged()
  assert.equal(gist((await recorder.count(4)).slice(3)), ['0 notifications/tools/list_changed'])
  await end(link, recorder, remote, server)
})

sdk('carries calls answered by JSON', async () => {
  const server = await SdkServer.start(stage, { enableJsonResponse: true })
  const [remote, recorder] = [remoteAt(stage, server.port), new LinkRecorder()]
  const link = stage.add(new StreamableLink(remote, recorder))
  await begin(link, recorder)
  for (let number = 2; number <= 20; number++) link.send(call(number, `call ${number}`))
  const said = gist(await recorder.count(19))
  for (let number = 2; number <= 20; number++) assert.ok(said.includes(`${number} call ${number}`))
  await end(link, recorder, remote, server)
})

sdk('resumes when the server closes the stream before the answer', async () => {
  const server = await SdkServer.start(stage, { eventStore: new Events(), retryInterval: 100 })
  const [remote, recorder] = [remoteAt(stage, server.port), new LinkRecorder()]
  const link = stage.add(new StreamableLink(remote, recorder))
  await begin(link, recorder, '2025-11-25')
  link.send(call(2, 'hang up'))
  assert.equal(gist(await recorder.count(2)), ['2 notifications/progress', '2 hang up'])
  await end(link, recorder, remote, server)
})

sdk('starts a new session when the server has forgotten it', async () => {
  const server = await SdkServer.start(stage)
  const [remote, recorder] = [remoteAt(stage, server.port), new LinkRecorder()]
  const link = stage.add(new StreamableLink(remote, recorder))
  await begin(link, recorder)
  for (const session of server.sessions.values()) await session.close()
  server.sessions.clear()
  link.send(call(2, 'a'))
  assert.equal(await recorder.count(1), ['expired 2'])
  recorder.recorded.length = 0
  await begin(link, recorder)
  link.send(call(3, 'b'))
  assert.is(gist(await recorder.count(2))[1], '3 b')
  await end(link, recorder, remote, server)
})

sdk('speaks to a server of the legacy transport', async () => {
  const server = await SdkServer.start(stage)
  const [remote, recorder] = [
    remoteAt(stage, server.port, { kind: 'sse', path: '/sse' }),
    new LinkRecorder(),
  ]
  const link = stage.add(new SseLink(remote, recorder))
  await begin(link, recorder, '2024-11-05')
  link.send(call(2, 'ask'))
  await recorder.count(2)
  link.send(pong(recorder))
  assert.equal(gist(await recorder.count(3)), ['0 notifications/progress', '0 ping', '0 ask'])
  await server.server!.sendToolListChanged()
  assert.equal(gist((await recorder.count(4)).slice(3)), ['0 notifications/tools/list_changed'])
  await end(link, recorder, remote, server)
})

sdk('carries many calls by one HTTP/2 connection', async () => {
  const backend = await http2Backend(stage, (stream) => {
    let body = ''
    stream.on('data', (bytes: Buffer) => (body += bytes.toString()))
    stream.on('end', () => {
      const { id } = JSON.parse(body) as { id: number }
      const type = id % 2 === 0 ? 'application/json' : 'text/event-stream'
      stream.respond({ ':status': 200, 'content-type': type })
      if (id % 2 === 0) return void stream.end(result(id))
      stream.write(event(PROGRESS))
      // This one ends only because the client disconnects.
      stream.write(event(result(id)))
    })
  })
  const tls = { cert: null, key: null, root: null, hostname: null, insecure: true, alpn: ['h2'] }
  const [remote, recorder] = [remoteAt(stage, backend.port, { tls }), new LinkRecorder()]
  const link = stage.add(new StreamableLink(remote, recorder))
  link.send(request(2))
  await recorder.count(1)
  for (let number = 3; number <= 10; number++) link.send(request(number))
  await recorder.count(1 + 4 + 4 * 2)
  assert.is(recorder.recorded.filter((what) => what.includes('"result"')).length, 9)
  assert.is(backend.sockets.length, 1)
  link.close()
  remote.pool.close()
  await deadline(
    until(() => backend.sockets[0]!.destroyed),
    30_000,
    'the connection to end',
  )
  assert.is(recorder.recorded.length, 14)
})

sdk.run()
