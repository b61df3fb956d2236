// A session of the playground lasts until it is ended, with its form values and results.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { SendHttp } from '../../../lib/page/mcp/mcp-client.ts'
import { PlaygroundSession } from '../../../lib/page/mcp/playground-session.ts'
import { errorText } from '../../../lib/page/mcp/mcp-errors.ts'
import type { Observable } from '../../../lib/page/observable.ts'
import { deadline } from '../../support/deadline.ts'

const WAIT_MS = 30_000

interface Sent {
  readonly id?: number
  readonly method: string
}

const ANSWERS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 's', version: '1' },
    capabilities: { tools: {} },
  },
  'tools/list': { tools: [{ name: 'echo' }, { name: 'add' }] },
  'tools/call': { content: [{ type: 'text', text: 'heard' }] },
}

/** A server that responds, or is unreachable. */
class Server {
  isAway = false
  readonly asked: string[] = []
  readonly send: SendHttp = (method, { body }) => {
    const { id, method: name } = JSON.parse(body ?? '{"method":""}') as Sent
    this.asked.push(name === '' ? method : name)
    if (this.isAway) return Promise.reject(new TypeError('Failed to fetch'))
    if (method === 'GET') return Promise.resolve(new Response(null, { status: 405 }))
    if (id === undefined) return Promise.resolve(new Response(null, { status: 202 }))
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: ANSWERS[name] })
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    return Promise.resolve(new Response(text, { headers }))
  }
}

function reached<T>(held: Observable<T>, is: (value: T) => boolean, what: string): Promise<void> {
  const found = new Promise<void>((resolve) => {
    const look = (): void => {
      if (is(held.value)) resolve()
    }
    held.listen(look)
    look()
  })
  return deadline(found, WAIT_MS, what)
}

async function connected(server: Server): Promise<PlaygroundSession> {
  const session = new PlaygroundSession()
  session.connect(server.send, '')
  await reached(session.offer, (offer) => offer !== null, 'what there is')
  return session
}

const sessions = suite('page/playground-session')

sessions('keeps the session, the form values and the result', async () => {
  const server = new Server()
  const session = await connected(server)
  const selected = session.select(session.offer.value!.tools[0]!)!
  assert.ok(selected.isFirstShown())
  assert.not.ok(selected.isFirstShown())
  selected.drafts.set({ text: 'kept' })
  selected.run({ text: 'kept' })
  await reached(selected.call, ({ state }) => state === 'done', 'the answer')
  assert.is(session.selected.value, selected)
  assert.equal(selected.drafts.value, { text: 'kept' })
  assert.is(session.connection.value.state, 'open')
  assert.not.ok(server.asked.includes('DELETE'))
})

sessions('disconnect ends the session and clears the selection', async () => {
  const server = new Server()
  const session = await connected(server)
  session.select(session.offer.value!.tools[0]!)
  session.disconnect()
  assert.ok(server.asked.includes('DELETE'))
  assert.is(session.connection.value.state, 'off')
  assert.is(session.selected.value, null)
  assert.is(session.offer.value, null)
})

sessions(
  'a new selection has an empty form, and the same item selected twice has two numbers',
  async () => {
    const session = await connected(new Server())
    const [echo, add] = session.offer.value!.tools
    const first = session.select(echo!)!
    first.drafts.set({ text: 'x' })
    assert.equal(session.select(add!)!.drafts.value, {})
    assert.is.not(session.select(echo!)!.number, first.number)
  },
)

sessions('an unreachable gateway is reported in one sentence', async () => {
  const server = new Server()
  const session = await connected(server)
  server.isAway = true
  const selected = session.select(session.offer.value!.tools[0]!)!
  selected.run({})
  await reached(selected.call, ({ state }) => state === 'failed', 'the failure')
  const call = selected.call.value
  const words =
    'The gateway closed the connection before it responded. Try again when it is available.'
  assert.is(errorText(call.state === 'failed' ? call.error : null), words)
  session.connect(server.send, '')
  await reached(session.connection, ({ state }) => state === 'failed', 'the refusal')
  assert.equal(session.connection.value, { state: 'failed', error: words, status: 0 })
})

sessions.run()
