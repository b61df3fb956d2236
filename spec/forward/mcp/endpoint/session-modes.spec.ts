// The HTTP+SSE transport of 2024-11-05: one stream carries all messages, and POSTs get a 202.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../../../support/gateway.ts'
import { McpClient, mcpText, puppet, server, textIn } from '../mcp-client.ts'
import type { Answer, Json, Setting } from '../mcp-client.ts'
import { isRunning, until } from '../stdio/owner.ts'

const legacy = suite('mcp/endpoint/legacy')
const stage = new Stage()
legacy.after.each(() => stage.clear())

const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"spec","version":"1"}}}'
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

function call(id: number, name: string, given: Json = {}): string {
  const params = { name, arguments: given }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
}

/** A legacy client: its stream, and its POSTs. */
class OldClient {
  readonly stream: Answer
  readonly endpoint: string
  readonly #port: number

  private constructor(stream: Answer, endpoint: string, port: number) {
    this.stream = stream
    this.endpoint = endpoint
    this.#port = port
  }

  static async open({ port }: { port: number }): Promise<OldClient> {
    const asker = new McpClient(stage, { port }, { path: '/sse' })
    const stream = await (await asker.send('GET', 'accept: text/event-stream\r\n')).head()
    await stream.until(({ events }) => events.length > 0, 'endpoint')
    assert.match(stream.content, /^event: endpoint\ndata: \/sse\?sessionId=[0-9a-f-]{36}\n\n$/)
    return new OldClient(stream, stream.events[0]!.data, port)
  }

  /** Messages, without the endpoint. */
  async first(count: number): Promise<Json[]> {
    const isMessage = ({ texts }: Answer): boolean => texts.length > count
    await this.stream.until(isMessage, `${count} messages`)
    return this.stream.texts.slice(1).map((text) => JSON.parse(text) as Json)
  }

  async post(body: string): Promise<Answer> {
    return (
      await new McpClient(stage, { port: this.#port }, { path: this.endpoint }).post(body)
    ).whole()
  }

  async accepted(...bodies: string[]): Promise<void> {
    for (const body of bodies) assert.is((await this.post(body)).status, 202)
  }
}

async function begin(setting: Setting = {}) {
  const gateway = await stage.gateway(mcpText(setting))
  return [gateway, await OldClient.open(gateway)] as const
}

legacy('answers come on the stream, and its end ends the session', async () => {
  const [gateway, client] = await begin()
  await client.accepted(INITIALIZE)
  const [welcome] = await client.first(1)
  assert.is((welcome!['result'] as Json)['protocolVersion'], '2024-11-05')
  await client.accepted(INITIALIZED, call(1, 'echo', { text: 'é' }), call(2, 'pid'))
  const messages = await client.first(3)
  assert.is(textIn(messages.slice(1, 2)), 'é')
  const pid = Number(textIn(messages))
  client.stream.raw.destroy()
  await until(() => !isRunning(pid), 'the child to end')
  assert.is((await client.post(call(3, 'echo'))).status, 404)
  const ended = gateway.lines.find(({ message }) => message === 'session ended')
  assert.is(ended?.['reason'], 'the client closed the stream')
})

legacy('server requests and notifications come on the same stream', async () => {
  const [, client] = await begin()
  await client.accepted(INITIALIZE)
  await client.first(1)
  await client.accepted(INITIALIZED, call(1, 'ask', { method: 'roots/list' }))
  const [, question] = await client.first(2)
  assert.is(question?.['method'], 'roots/list')
  await client.accepted(`{"jsonrpc":"2.0","id":${String(question?.['id'])},"result":{"roots":[]}}`)
  assert.is(textIn(await client.first(3)), '{"roots":[]}')
})

legacy('a POST without a session, or with an unknown one, is refused', async () => {
  const [gateway] = await begin()
  const without = new McpClient(stage, gateway, { path: '/sse' })
  assert.is((await (await without.post(INITIALIZE)).whole()).status, 422)
  const unknown = new McpClient(stage, gateway, { path: '/sse?sessionId=x' })
  assert.is((await (await unknown.post(INITIALIZE)).whole()).status, 404)
  const put = await without.send('PUT', 'content-length: 0\r\n')
  assert.is((await put.whole()).status, 405)
  const html = await without.send('GET', 'accept: text/html\r\n')
  assert.is((await html.whole()).status, 406)
})

legacy('a second initialize is refused, also while the first is open', async () => {
  const [gateway, client] = await begin()
  await client.accepted(INITIALIZE)
  assert.is((await client.post(INITIALIZE)).status, 400)
  await client.first(1)
  assert.is((await client.post(INITIALIZE)).status, 400)
  await client.accepted(INITIALIZED, call(1, 'echo', { text: 'a' }))
  assert.is(textIn(await client.first(2)), 'a')
  assert.is(gateway.lines.filter(({ message }) => message === 'started child').length, 1)
})

legacy('requests before initialize are refused and start nothing', async () => {
  const [gateway, client] = await begin()
  assert.is((await client.post(call(1, 'echo'))).status, 400)
  assert.is((await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status, 400)
  await client.accepted(INITIALIZED)
  await client.accepted(INITIALIZE)
  await client.first(1)
  assert.is(gateway.lines.filter(({ message }) => message === 'started child').length, 1)
})

legacy('the failure of a target start is sent on the stream, which then ends', async () => {
  const [, client] = await begin({ targets: [puppet('one', '--greeting', 'exit')] })
  await client.accepted(INITIALIZE)
  const [answer] = await client.first(1)
  const { message } = answer!['error'] as { message: string }
  assert.is(message, "target 'one' exited with code 7")
  await client.stream.whole()
})

legacy('a slow reader gets all messages', async () => {
  const [, client] = await begin({ targets: [server('one')] })
  await client.accepted(INITIALIZE)
  await client.first(1)
  client.stream.raw.socket.pause()
  const calls = [1, 2, 3].map((id) => call(id, 'big', { bytes: 4_000_000 }))
  await client.accepted(INITIALIZED, ...calls)
  client.stream.raw.socket.resume()
  const messages = await client.first(4)
  for (const message of messages.slice(1)) assert.is(textIn([message]).length, 4_000_000)
})

legacy('at shutdown, calls end before the stream', async () => {
  const [gateway, client] = await begin()
  await client.accepted(INITIALIZE)
  await client.first(1)
  await client.accepted(INITIALIZED, call(1, 'slow', { ms: 500 }))
  const idle = await OldClient.open(gateway)
  await client.first(2)
  const stopping = gateway.stop()
  await idle.stream.whole()
  assert.is(textIn(await client.first(3)), 'waited 500 ms')
  await client.stream.whole()
  await stopping
})

legacy('a client that disconnects during the start of a target leaves no child', async () => {
  const [gateway, client] = await begin({ targets: [puppet('one', '--greeting', 'never')] })
  await client.accepted(INITIALIZE)
  const line = (message: string) => gateway.lines.find((one) => one.message === message)
  await until(() => line('started child') !== undefined, 'the child')
  client.stream.raw.destroy()
  await until(() => line('child exited') !== undefined, 'its end')
  assert.not(isRunning(Number(line('started child')?.['pid'])))
})

legacy.run()
