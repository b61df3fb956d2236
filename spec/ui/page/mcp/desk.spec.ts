// A session of the playground: it lasts until somebody ends it, with what was filled in and what came of it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Way } from '../../../../lib/ui/page/mcp/client.ts'
import { Desk } from '../../../../lib/ui/page/mcp/desk.ts'
import { faultWords } from '../../../../lib/ui/page/mcp/messages.ts'
import type { Held } from '../../../../lib/ui/page/held.ts'
import { deadline } from '../../../support/deadline.ts'

const WAIT_MS = 30_000

interface Sent {
  readonly id?: number
  readonly method: string
}

const ANSWERS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 's' },
    capabilities: { tools: {} },
  },
  'tools/list': { tools: [{ name: 'echo' }, { name: 'add' }] },
  'tools/call': { content: [{ type: 'text', text: 'heard' }] },
}

/** A server that answers, or is not there any more. */
class Server {
  isAway = false
  readonly asked: string[] = []
  readonly way: Way = (method, { body }) => {
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

function reached<T>(held: Held<T>, is: (value: T) => boolean, what: string): Promise<void> {
  const found = new Promise<void>((resolve) => {
    const look = (): void => {
      if (is(held.value)) resolve()
    }
    held.listen(look)
    look()
  })
  return deadline(found, WAIT_MS, what)
}

async function connected(server: Server): Promise<Desk> {
  const desk = new Desk()
  desk.connect(server.way, '')
  await reached(desk.offer, (offer) => offer !== null, 'what there is')
  return desk
}

const desks = suite('playground desk')

desks('keeps the session, what was filled in and what came of it', async () => {
  const server = new Server()
  const desk = await connected(server)
  const work = desk.choose(desk.offer.value!.tools[0]!)!
  assert.ok(work.isFirstSight())
  assert.not.ok(work.isFirstSight())
  work.drafts.set({ text: 'kept' })
  work.run({ text: 'kept' })
  await reached(work.call, ({ state }) => state === 'done', 'the answer')
  assert.is(desk.work.value, work)
  assert.equal(work.drafts.value, { text: 'kept' })
  assert.is(desk.link.value.state, 'open')
  assert.not.ok(server.asked.includes('DELETE'))
})

desks('ends the session when it is told to, and forgets what was chosen', async () => {
  const server = new Server()
  const desk = await connected(server)
  desk.choose(desk.offer.value!.tools[0]!)
  desk.disconnect()
  assert.ok(server.asked.includes('DELETE'))
  assert.is(desk.link.value.state, 'off')
  assert.is(desk.work.value, null)
  assert.is(desk.offer.value, null)
})

desks('what is chosen next begins anew, and two readings of one thing are two', async () => {
  const desk = await connected(new Server())
  const [echo, add] = desk.offer.value!.tools
  const first = desk.choose(echo!)!
  first.drafts.set({ text: 'x' })
  assert.equal(desk.choose(add!)!.drafts.value, {})
  assert.is.not(desk.choose(echo!)!.number, first.number)
})

desks('a gateway that is not there is told in a sentence', async () => {
  const server = new Server()
  const desk = await connected(server)
  server.isAway = true
  const work = desk.choose(desk.offer.value!.tools[0]!)!
  work.run({})
  await reached(work.call, ({ state }) => state === 'failed', 'the failure')
  const call = work.call.value
  const words = 'The gateway went away before it answered. Try again when it is back.'
  assert.is(faultWords(call.state === 'failed' ? call.error : null), words)
  desk.connect(server.way, '')
  await reached(desk.link, ({ state }) => state === 'failed', 'the refusal')
  assert.equal(desk.link.value, { state: 'failed', error: words, status: 0 })
})

desks.run()
