// Asynchronous policies in the gateway, and what clients and backends do in the meantime.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildTextReply } from '../../lib/core/replies.ts'
import type { Policy, Verdict } from '../../lib/core/types.ts'
import { ask } from '../support/ask.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'
import { requestOf } from '../support/exchange-of.ts'
import { routeTo, Stage } from '../support/gateway.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'

const waiting = suite('policies that wait')
const stage = new Stage()
waiting.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const ANSWERS: Step[] = [{ wait: HEAD }, { send: OK }, { again: true }]
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

type Level = 'listener' | 'route'

const REQUEST = requestOf('GET / HTTP/1.1', 'host: a')

/** A policy of the spec, added after the configured ones. */
function insert(gateway: RunningGateway, level: Level, request: () => Verdict): void {
  const listener = gateway.plan.ports.get(gateway.port)!.find('a')!
  const policies =
    level === 'listener' ? listener.policies : listener.routes.find(REQUEST)!.value.policies
  ;(policies as Policy[]).push({ kind: 'inserted', request })
}

/** Holds every request until it is released. */
class Gate {
  held: ((reply?: ReturnType<typeof buildTextReply>) => void)[] = []
  #wake: () => void = () => {}

  readonly request = (): Verdict =>
    new Promise((resolve) => {
      this.held.push(resolve)
      this.#wake()
    })

  async holds(count: number): Promise<void> {
    while (this.held.length < count) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(woken, 30_000, `${count} requests to be held`)
    }
  }
}

async function gated(level: Level, policies = '', script = ANSWERS) {
  const backend = await stage.backend(script)
  const gateway = await stage.gateway(routeTo(backend, policies))
  const gate = new Gate()
  insert(gateway, level, gate.request)
  return { backend, gateway, gate, client: await stage.client(gateway) }
}

const LEVELS: readonly Level[] = ['listener', 'route']

waiting('hold a request back until they have decided', async () => {
  for (const level of LEVELS) {
    const { backend, gate, client } = await gated(level)
    client.send(GET)
    await gate.holds(1)
    assert.is(backend.received, '')
    gate.held[0]!()
    assert.match(await client.until(/ok$/), '200 OK')
    client.take(client.text.length)
    client.send(GET)
    await gate.holds(2)
    gate.held[1]!(buildTextReply(401, 'no'))
    assert.match(await client.until(/no$/), '401')
    assert.is(backend.received, GET)
  }
})

waiting('forward the complete body, also the parts that arrived during the wait', async () => {
  const size = 3_000_000
  const script: Step[] = [
    { wait: HEAD },
    { wait: (text) => (text.length >= size ? size : -1) },
    { send: OK },
  ]
  for (const level of LEVELS) {
    const { backend, gate, client } = await gated(level, '', script)
    const body = Buffer.alloc(size, 'abcdefgh')
    client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`)
    client.send(body)
    await gate.holds(1)
    gate.held[0]!()
    await client.until(/ok$/)
    assert.ok(backend.received.endsWith(body.toString('latin1')))
  }
})

waiting('keep the order of a pipeline', async () => {
  const { gate, client } = await gated('route')
  client.send(`${GET}${GET}`)
  await gate.holds(1)
  gate.held[0]!(buildTextReply(401, 'first'))
  await gate.holds(2)
  gate.held[1]!(buildTextReply(403, 'second'))
  assert.match(await client.until(/second$/), /401[^]*first[^]*403[^]*second/)
})

waiting('are abandoned when the client closes the connection', async () => {
  for (const level of LEVELS) {
    const { backend, gateway, gate, client } = await gated(level)
    client.send(GET)
    await gate.holds(1)
    client.reset()
    assert.equal(await gateway.outcomes(1), ['client_closed'])
    gate.held[0]!()
    await new Promise((resolve) => setImmediate(resolve))
    assert.is(backend.received, '')
    assert.equal(gateway.faults(), [])
  }
})

waiting('are bounded by the request timeout', async () => {
  const { backend, gateway, gate, client } = await gated(
    'route',
    'timeout: { requestTimeout: 20ms }',
  )
  client.send(GET)
  await gate.holds(1)
  assert.match(await client.until(/request timeout$/), '504')
  gate.held[0]!()
  assert.equal(await gateway.outcomes(1), ['backend_timeout'])
  assert.is(backend.received, '')
})

waiting('work the same for HTTP/2', async () => {
  const { backend, gateway, gate } = await gated('route')
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const asked = client.get('/')
  await gate.holds(1)
  assert.is(backend.received, '')
  gate.held[0]!()
  assert.is((await asked).body, 'ok')
})

waiting('that throw cause a 500, which is logged once', async () => {
  const broken = (): never => {
    throw new Error('a bug of ours')
  }
  for (const level of LEVELS)
    for (const request of [broken, async () => broken()]) {
      const backend = await stage.backend(ANSWERS)
      const gateway = await stage.gateway(routeTo(backend))
      insert(gateway, level, request)
      const answer = await ask(gateway, 'GET / HTTP/1.1')
      assert.is(answer.status, 500)
      assert.is(answer.body, 'internal error')
      const [line, ...more] = gateway.faults()
      assert.match(String(line?.['cause']), 'a bug of ours')
      assert.equal(more, [])
      assert.is(backend.received, '')
    }
})

waiting.run()
