// A trace of several workers: a client waits at all of them and sees the first request of any.

import type { ServerResponse } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TraceEvent } from '../../../lib/core/trace-events.ts'
import type { TraceWatchers } from '../../../lib/trace/trace-watchers.ts'
import { WorkerStage, startTwoWorkers, startAggregatedAdmin } from '../../support/worker-stage.ts'
import type { AdminClients, TwoWorkers, Worker } from '../../support/worker-stage.ts'
import { ask } from '../../support/ask.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import type { RawClient } from '../../support/raw-client.ts'

const trace = suite('aggregated/trace')
const stage = new Stage()
trace.after.each(() => stage.clear())

const WAIT_MS = 30_000
const DIRECT = `config: { trace: { maxWatchers: 5 } }
routes: [{ policies: { directResponse: { status: 200, body: hi } } }]
`

const scene = (): Promise<TwoWorkers> => startTwoWorkers(stage, DIRECT)

async function watch(
  { port }: AdminClients,
  query = '',
  path = '/debug/trace',
): Promise<RawClient> {
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send(`GET ${path}${query} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  return client
}

function eventsIn(text: string): TraceEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as TraceEvent)
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  const look = async (): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
  }
  await deadline(look(), WAIT_MS, what)
}

const isLeft =
  (...all: Worker[]) =>
  (): boolean =>
    all.every(
      ({ gateway: { watchers } }: { gateway: { watchers: TraceWatchers } }) => watchers.count === 0,
    )

for (const slot of ['one', 'two'] as const)
  trace(`worker ${slot} takes the request, and the other stops watching`, async () => {
    const all = await scene()
    const client = await watch(all)
    await client.until(/: ready\n\n/)
    assert.is(all.one.gateway.watchers.count, 1)
    assert.is(all.two.gateway.watchers.count, 1)
    assert.match((await all.stats('GET /metrics')).text, /^gateway_trace_watchers 1$/m)
    await all[slot].get('/seen')
    const text = await client.untilClosed()
    assert.match(text, /\r\n0\r\n\r\n$/)
    const types = eventsIn(text).map(({ message }) => message.type)
    assert.is(types[0], 'requestStarted')
    assert.is(types.at(-1), 'requestFinished')
    assert.match(text, '/seen')
    await until('the other to be released', isLeft(all.one, all.two))
  })

trace('the page API streams the same events', async () => {
  const all = await scene()
  const client = await watch(all, '', '/api/trace')
  await client.until(/: ready\n\n/)
  await all.two.get('/seen')
  assert.match(await client.untilClosed(), '/seen')
})

trace('an expression selects the request in every worker', async () => {
  const all = await scene()
  const client = await watch(all, `?expression=${encodeURIComponent('request.path == "/b"')}`)
  await client.until(/: ready\n\n/)
  await all.one.get('/a')
  await all.two.get('/a')
  await all.two.get('/b')
  const text = await client.untilClosed()
  assert.match(text, '/b')
  assert.not.match(text, '/a"')
  assert.match((await all.admin('GET /debug/trace?expression=(')).text, /^invalid expression: /)
})

trace('a token selects the request in every worker', async () => {
  const all = await scene()
  const token = 'a'.repeat(32)
  const client = await watch(all, `?token=${token}`)
  await client.until(/: ready\n\n/)
  await all.one.get('/a')
  await all.two.get('/a')
  await ask(all.two, 'GET /b HTTP/1.1', `x-gateway-trace: ${token}`)
  const text = await client.untilClosed()
  assert.match(text, '"path":"/b"')
  assert.not.match(text, token)
  assert.match((await all.admin('GET /debug/trace?token=short')).text, /^invalid token: /)
})

trace('a worker that starts while a client waits is watched, too', async () => {
  const all = await scene()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  all.aggregated.workerLeft(all.two.endpoints)
  const next = await all.workerStage.worker(2, 2)
  all.aggregated.workerReady(next.endpoints)
  await until('the new one to be watched', () => next.gateway.watchers.count === 1)
  await next.get('/seen')
  assert.match(await client.untilClosed(), '/seen')
})

trace('stops watching at all workers when the client leaves', async () => {
  const all = await scene()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  client.destroy()
  await until('it to be left', isLeft(all.one, all.two))
})

trace('limits the number of watchers as a single process does', async () => {
  const all = await scene()
  for (let remaining = 5; remaining > 0; remaining--) await (await watch(all)).until(/: ready\n\n/)
  const { status, text } = await all.admin('GET /debug/trace')
  assert.is(status, 503)
  assert.is(text, 'too many watchers: 5 wait already (config.trace.maxWatchers)\n')
  const page = await all.stats('GET /metrics')
  assert.match(page.text, '\ngateway_refused_total{limit="maxWatchers"} 1\n')
})

/** A worker whose answers the spec writes. */
async function puppet(
  workerStage: WorkerStage,
  slot: number,
  all: AdminClients,
): Promise<() => ServerResponse> {
  let stream: ServerResponse | null = null
  const endpoints = await workerStage.scripted(slot, (_request, response) => {
    stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
    stream.write(': ready\n\n')
  })
  all.aggregated.workerReady(endpoints)
  return () => stream!
}

async function puppets(): Promise<[AdminClients, () => ServerResponse, () => ServerResponse]> {
  const workerStage = new WorkerStage(stage, DIRECT)
  const { gateway } = await workerStage.worker(9)
  const all = await workerStage.aggregatedAdmin(() => gateway.plan)
  return [all, await puppet(workerStage, 1, all), await puppet(workerStage, 2, all)]
}

trace('of two simultaneous requests the first is traced, and the second dropped', async () => {
  const [all, one, two] = await puppets()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  one().write('data: {"of":1}\n\n')
  two().write('data: {"of":2}\n\n')
  const other = two()
  const closed = new Promise((resolve) => other.once('close', resolve))
  await client.until(/"of":[12]/)
  const chosen = client.text.includes('"of":1') ? one : two
  chosen().end('data: {"last":true}\n\n')
  const text = await client.untilClosed()
  assert.is(eventsIn(text).length, 2)
  assert.match(text, '{"last":true}')
  if (chosen === one) await deadline(closed, WAIT_MS, 'the second to be dropped')
})

trace('passes on complete events, however a worker splits them', async () => {
  const [all, one] = await puppets()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  for (const part of ['data: {"a"', ':1}', '\n', '\ndata: {"b":2', '}\n\n: x\n\n']) {
    one().write(part)
    await new Promise((resolve) => setImmediate(resolve))
  }
  one().end('data: {}\n\n')
  const text = await client.untilClosed()
  const data = [...text.matchAll(/^data: .*$/gm)].map(([line]) => line)
  assert.equal(data, ['data: {"a":1}', 'data: {"b":2}', 'data: {}'])
})

trace('a worker that dies during a trace cuts it', async () => {
  const [all, one] = await puppets()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  one().write('data: {"a":1}\n\n')
  await client.until(/"a":1/)
  one().destroy()
  const text = await client.untilClosed()
  assert.not.match(text, /\r\n0\r\n\r\n$/)
})

trace('a worker that dies while it waits does not end the watch', async () => {
  const [all, one, two] = await puppets()
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  one().destroy()
  two().end('data: {"of":2}\n\n')
  assert.match(await client.untilClosed(), '"of":2')
})

trace('a worker that does not confirm its watch does not delay the client', async () => {
  const workerStage = new WorkerStage(stage, DIRECT)
  const one = await workerStage.worker(1)
  const all = await startAggregatedAdmin(workerStage, one)
  all.aggregated.workerReady(await workerStage.scripted(2, () => {}))
  const client = await watch(all)
  await client.until(/: ready\n\n/)
  await one.get('/seen')
  assert.match(await client.untilClosed(), '/seen')
})

trace.run()
