// Two routes under load while the file changes fifty times, every fifth time to an invalid one: no request is lost.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import type { Step } from '../support/backend.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { Program } from '../support/program.ts'
import type { RawClient } from '../support/raw-client.ts'

const CLIENTS = 8
const CHANGES = 50
/** The deadline of each client. */
const MOST_REQUESTS = 2000

const RELOADED = 'reloaded config'
const REFUSED = 'Failed to reload config'

const load = suite('gateway process, reload under load')
const stage = new Stage()
load.after.each(() => stage.clear())

function script(body: string): Step[] {
  const send = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  return [{ wait: /\r\n\r\n/ }, { send }, { again: true }]
}

interface Sums {
  requests: number
  state: 'running' | 'over'
}

/** Requests both routes in turn; returns the last change it saw. A missing or unexpected response is a failure. */
async function hammer(client: RawClient, sums: Sums): Promise<number> {
  let last = 0
  for (let i = 0; i < MOST_REQUESTS && sums.state === 'running'; i++) {
    last = await ask(client, i % 2 === 0 ? 'one' : 'two', last)
    sums.requests++
  }
  return last
}

async function ask(client: RawClient, name: string, last: number): Promise<number> {
  client.send(`GET /${name} HTTP/1.1\r\nhost: a\r\n\r\n`)
  const text = await client.until(/\r\n\r\n[^]+$/)
  client.take(text.length)
  const found = /^HTTP\/1\.1 200 OK\r\n[^]*x-change: (\d+)(?=\r\n)[^]*\r\n\r\n(\w+)$/.exec(text)
  assert.is(found?.[2], name, text)
  const change = Number(found?.[1])
  assert.ok(change >= last, `change ${change} after ${last}`)
  return change
}

load('loses no request and ends with the newest configuration', async () => {
  const one = await stage.backend(script('one'))
  const two = await stage.backend(script('two'))
  const [port, folder] = [await freePort(), stage.add(new Folder())]
  const route = (name: string, backend: { port: number }, change: number): string =>
    `- name: ${name}
  matches: [{ path: { pathPrefix: /${name} } }]
  backends: [{ host: '127.0.0.1:${backend.port}' }]
  policies: { responseHeaderModifier: { set: { x-change: '${change}' } } }
`
  const config = (change: number): string =>
    `config: { logging: { level: 'error,config=info,gateway=info' } }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
${route('one', one, change)}${route('two', two, change)}`
  const file = folder.write('c.yaml', config(0))
  const program = new Program('gateway', ['-f', file])
  stage.add({ close: () => program.kill() })
  await program.prints(/started bind/)

  const sums: Sums = { requests: 0, state: 'running' }
  const target = { port, host: '127.0.0.1' }
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => stage.client(target)))
  const hammering = Promise.all(clients.map((client) => hammer(client, sums)))
  // Failures are reported at the end.
  hammering.catch(() => (sums.state = 'over'))
  for (let change = 1; change <= CHANGES; change++) {
    const isBroken = change % 5 === 0 && change < CHANGES
    const text = isBroken ? config(change).slice(0, -30) + '{{' : config(change)
    if (change % 2 === 0) folder.replace('c.yaml', text)
    else folder.write('c.yaml', text)
    const count = (text: string): number => text.split(isBroken ? REFUSED : RELOADED).length
    const before = count(program.stdout)
    program.signal('SIGHUP')
    await program.prints((printed) => count(printed) > before)
  }
  sums.state = 'over'
  await hammering
  const last = await ask(clients[0]!, 'one', 0)
  assert.is(last, CHANGES)
  // All configurations were loaded while requests ran.
  assert.ok(sums.requests >= CHANGES, `${sums.requests} requests`)
  assert.ok(program.stdout.split(REFUSED).length > 9, 'the invalid configurations were refused')
  for (const backend of [one, two])
    assert.ok(backend.connections.length <= CLIENTS, 'connections to backends are kept')
})

load.run()
