// The page of several workers: it shows the sums of all of them, never a part as if it were the whole.

import { dirname } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventWriter } from '../../../lib/text/sse-output.ts'
import type {
  LimitsView,
  LogsView,
  MapView,
  RuntimeView,
} from '../../../lib/admin/page-api/page-api-types.ts'
import { TICKS_PER_QUIET_SAMPLE } from '../../../lib/admin/page-api/read-api.ts'
import { RemoteUi } from '../../../lib/admin/page-api/remote-page.ts'
import { supervisorSocketIn } from '../../../lib/processes/worker-context.ts'
import { startTwoWorkers } from '../../support/worker-stage.ts'
import type { AdminClients, TwoWorkers, Worker } from '../../support/worker-stage.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'

const page = suite('aggregated/page')
const stage = new Stage()
page.after.each(() => stage.clear())

const WAIT_MS = 30_000

const TEXT = `routes:
  - name: all
    policies:
      rateLimit: { local: [{ requests: 100, unit: Minutes, key: 'request.headers["x-user"]' }] }
      directResponse: { status: 200, body: hi }
`

const scene = (): Promise<TwoWorkers> => startTwoWorkers(stage, TEXT)

async function read<T>({ admin }: AdminClients, path: string): Promise<T> {
  const { status, text } = await admin(`GET ${path}`)
  assert.is(status, 200, `${path}: ${text}`)
  return JSON.parse(text) as T
}

async function busy({ one, two }: TwoWorkers): Promise<void> {
  for (const get of [one.get, two.get, two.get]) await get('/seen')
}

/** A reader that keeps the first events. */
class HeldOut implements EventWriter {
  readonly isFull = false
  state: 'open' | 'ended' | 'destroyed' = 'open'
  readonly first: Promise<string>
  #resolve: (text: string) => void = () => {}

  constructor() {
    this.first = new Promise((resolve) => (this.#resolve = resolve))
  }

  write(text: string): void {
    this.#resolve(text)
  }

  onDrain(): void {}

  end(): void {
    this.state = 'ended'
  }

  destroy(): void {
    this.state = 'destroyed'
  }
}

page('listeners and routes have the sums of all workers', async () => {
  const all = await scene()
  await busy(all)
  const { workers, listeners, routes, readiness } = await read<RuntimeView>(all, '/api/runtime')
  assert.equal(workers, { wanted: 2, running: 2 })
  assert.is(readiness, 'ready')
  // In this spec each worker has its own port; the page shows the configured one.
  assert.is(listeners[0]?.state, 'open')
  assert.is(routes.shown[0]?.requests, 3)
  const { gateways } = await read<MapView>(all, '/api/map')
  assert.is(gateways[0]?.listeners[0]?.routes[0]?.traffic.requests, 3)
})

page('the counts of a worker stay when it has ended', async () => {
  const all = await scene()
  await busy(all)
  await read<RuntimeView>(all, '/api/runtime')
  all.aggregated.workerLeft(all.two.endpoints)
  const { workers, routes } = await read<RuntimeView>(all, '/api/runtime')
  assert.equal(workers, { wanted: 2, running: 1 })
  assert.is(routes.shown[0]?.requests, 3)
})

page('samples are sums, and latencies those of all requests', async () => {
  const all = await scene()
  const live = await stage.client({ port: all.port, host: '127.0.0.1' })
  live.send('GET /api/live?topics=runtime,limits HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await live.until(/text\/event-stream/)
  await busy(all)
  all.timer.turn()
  await live.until(/event: runtime\ndata: .*\n\n/)
  const { samples } = await read<RuntimeView>(all, '/api/runtime')
  assert.is(samples.length, 1)
  assert.is(samples[0]?.requests, 3)
  assert.ok(samples[0]!.p50! > 0 && samples[0]!.p99! >= samples[0]!.p50!)
  assert.ok(samples[0]!.rss > process.memoryUsage.rss())
})

page('lists the log lines of all workers together, each with its worker', async () => {
  const all = await scene()
  await busy(all)
  const first = await read<LogsView>(all, '/api/logs')
  const seen = first.lines.filter(({ message }) => message === 'request')
  const workers = seen.map(({ fields }) => fields.find(([name]) => name === 'worker')?.[1])
  assert.equal(workers.map(String).toSorted(), ['1', '2', '2'])
  const last = first.lines.at(-1)!.number
  await all.two.get('/more')
  const more = await read<LogsView>(all, `/api/logs?after=${last}`)
  assert.equal(
    more.lines.map(({ fields }) => fields.find(([name]) => name === 'http.path')?.[1]),
    ['/more'],
  )
})

/** Resolves when this many request lines of workers are in the list, although no client has asked for it. */
function takenOver({ log }: AdminClients, count: number): Promise<void> {
  const keep = log.tap
  let remaining = count
  return new Promise((resolve) => {
    log.tap = (line) => {
      keep?.(line)
      if (line.message === 'request' && --remaining === 0) resolve()
    }
  })
}

page('keeps lines and counts of workers that died before a page was opened', async () => {
  const all = await scene()
  await busy(all)
  const taken = takenOver(all, 3)
  for (let remaining = TICKS_PER_QUIET_SAMPLE; remaining > 0; remaining--) {
    all.timer.turn()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await deadline(taken, WAIT_MS, 'the lines')
  all.aggregated.workerLeft(all.one.endpoints)
  all.aggregated.workerLeft(all.two.endpoints)
  const { lines } = await read<LogsView>(all, '/api/logs')
  assert.is(lines.filter(({ message }) => message === 'request').length, 3)
  const { routes } = await read<RuntimeView>(all, '/api/runtime')
  assert.is(routes.shown[0]?.requests, 3)
})

page('a worker that logged more than it keeps adds a line that says so', async () => {
  const all = await scene()
  all.two.log.write('info', 'gateway', 'first', [])
  await read<LogsView>(all, '/api/logs')
  for (let remaining = 600; remaining > 0; remaining--)
    all.two.log.write('info', 'gateway', 'many', [])
  const { lines } = await read<LogsView>(all, '/api/logs')
  const gap = lines.find(({ message }) => message === 'more was logged than is shown here')
  assert.equal(gap?.fields, [
    ['lines', 100],
    ['worker', 2],
  ])
})

page('lists each limit once, with the decisions of all workers', async () => {
  const all = await scene()
  await busy(all)
  const { rules } = await read<LimitsView>(all, '/api/limits')
  assert.is(rules.shown.length, 1)
  assert.is(rules.shown[0]?.key, 'request.headers["x-user"]')
  assert.equal(rules.shown[0]?.decisions, { allow: 3, deny: 0, failed: 0 })
})

page(
  'keeps the decisions of an ended worker, also when its successors were never asked',
  async () => {
    const all = await scene()
    await busy(all)
    await read<LimitsView>(all, '/api/limits')
    all.aggregated.workerLeft(all.one.endpoints)
    const next = await all.workerStage.worker(1, 2)
    all.aggregated.workerReady(next.endpoints)
    await read<RuntimeView>(all, '/api/runtime')
    all.aggregated.workerLeft(next.endpoints)
    const { rules } = await read<LimitsView>(all, '/api/limits')
    assert.equal(rules.shown[0]?.decisions, { allow: 3, deny: 0, failed: 0 })
  },
)

page('serves the page, its configuration and its refusals as with one process', async () => {
  const all = await scene()
  assert.match((await all.admin('GET /ui')).text, '<!doctype html>')
  const { yaml } = await read<{ yaml: string }>(all, '/api/config')
  assert.match(yaml, `adminAddr: 127.0.0.1:${all.port}`)
  assert.is((await all.admin('GET /api/nothing')).status, 404)
  assert.is((await all.admin('POST /api/runtime')).status, 405)
  assert.is((await all.admin('GET /api/live')).status, 400)
  assert.is((await all.admin('GET /worker/facts?parts=pulse')).status, 404)
})

/** The response of a worker to a client that opened the page on its listener. */
async function listened(worker: Worker, path: string): Promise<{ status: number; body: string }> {
  const remote = new RemoteUi(supervisorSocketIn(dirname(worker.endpoints.admin)))
  const { pathname, searchParams } = new URL(path, 'http://a')
  const ask = { method: 'GET', path: pathname, query: searchParams, ifNoneMatch: undefined }
  const answer = await deadline(remote.answer(ask), WAIT_MS, path)
  assert.is(answer.kind, 'whole')
  return answer.kind === 'whole'
    ? { status: answer.status, body: answer.content.toString() }
    : { status: 0, body: '' }
}

page('a page on a listener of a worker shows all workers', async () => {
  const all = await scene()
  await busy(all)
  const { status, body } = await listened(all.one, '/api/runtime?samples=0')
  assert.is(status, 200)
  const { place, routes } = JSON.parse(body) as RuntimeView
  assert.is(place, 'listener')
  assert.is(routes.shown[0]?.requests, 3)
  assert.is((await listened(all.one, '/api/nothing')).status, 404)
  // Endpoints for operators are not served there.
  for (const path of ['/config_dump', '/quitquitquit', '/ui/signed-in'])
    assert.is((await listened(all.one, path)).status, 404)
})

page('a stream on a listener of a worker covers all workers, and ends with it', async () => {
  const all = await scene()
  const remote = new RemoteUi(supervisorSocketIn(dirname(all.one.endpoints.admin)))
  const query = new URLSearchParams({ topics: 'runtime' })
  const ask = { method: 'GET', path: '/api/live', query, ifNoneMatch: undefined }
  const answer = await deadline(remote.answer(ask), WAIT_MS, 'the stream')
  assert.is(answer.kind, 'events')
  if (answer.kind !== 'events') return
  const out = new HeldOut()
  const leave = answer.open(out)
  await busy(all)
  all.timer.turn()
  assert.match(
    await deadline(out.first, WAIT_MS, 'an event'),
    /^event: runtime\ndata: .*"requests":3/,
  )
  remote.endListenerStreams()
  assert.is(out.state, 'ended')
  leave()
})

page('answers 502 when the supervisor is not reachable', async () => {
  const { one } = await scene()
  const remote = new RemoteUi(`${one.endpoints.admin}.none`)
  const ask = {
    method: 'GET',
    path: '/api/map',
    query: new URLSearchParams(),
    ifNoneMatch: undefined,
  }
  const answer = await deadline(remote.answer(ask), WAIT_MS, 'the problem')
  assert.is(answer.kind === 'whole' && answer.status, 502)
})

page.run()
