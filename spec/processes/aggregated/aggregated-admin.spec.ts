// The admin interface of several workers: one answer for all, also when a worker fails.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatLogFilter } from '../../../lib/core/log-filter.ts'
import { WorkerStage, startTwoWorkers } from '../../support/worker-stage.ts'
import type { AdminClients, TwoWorkers } from '../../support/worker-stage.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import { readMetrics, valueOf } from '../../support/prometheus.ts'
import type { Sample } from '../../support/prometheus.ts'

const test = suite('aggregated/admin')
const stage = new Stage()
test.after.each(() => stage.clear())

const TEXT = `routes:
  - name: all
    policies:
      rateLimit: { local: [{ requests: 100, unit: Minutes, key: 'request.headers["x-user"]' }] }
      directResponse: { status: 200, body: hi }
`

const scene = (): Promise<TwoWorkers> => startTwoWorkers(stage, TEXT)

async function metrics({ stats }: Pick<AdminClients, 'stats'>): Promise<Sample[]> {
  return readMetrics((await stats('GET /metrics')).text)
}

function requests(samples: readonly Sample[]): number {
  const found = samples.filter(({ name }) => name === 'gateway_requests_total')
  return found.reduce((sum, { value }) => sum + value, 0)
}

test('adds up metrics, and labels those of a process with its worker', async () => {
  const { one, two, ...clients } = await scene()
  for (const get of [one.get, two.get, two.get]) await get()
  const samples = await metrics(clients)
  assert.is(requests(samples), 3)
  assert.is(valueOf(samples, 'gateway_request_duration_seconds_count'), 3)
  assert.is(valueOf(samples, 'gateway_request_duration_seconds_bucket', { le: '+Inf' }), 3)
  assert.is(valueOf(samples, 'gateway_build_info'), 1)
  assert.is(valueOf(samples, 'gateway_workers', { state: 'wanted' }), 2)
  assert.is(valueOf(samples, 'gateway_workers', { state: 'running' }), 2)
  assert.is(valueOf(samples, 'gateway_worker_restarts_total'), 0)
  assert.is(valueOf(samples, 'gateway_trace_watchers'), 0)
  for (const worker of ['1', '2', 'supervisor'])
    assert.ok(valueOf(samples, 'process_resident_memory_bytes', { worker })! > 0)
})

test('sums do not go down when a worker is replaced', async () => {
  const { workerStage, one, two, ...clients } = await scene()
  for (const get of [one.get, two.get, two.get]) await get()
  assert.is(requests(await metrics(clients)), 3)
  clients.aggregated.workerLeft(two.endpoints)
  const after = await metrics(clients)
  assert.is(requests(after), 3)
  assert.is(valueOf(after, 'gateway_request_duration_seconds_count'), 3)
  assert.is(valueOf(after, 'gateway_workers', { state: 'running' }), 1)
  assert.is(valueOf(after, 'process_resident_memory_bytes', { worker: '2' }), undefined)
  const next = await workerStage.worker(2, 2)
  clients.aggregated.workerReady(next.endpoints)
  await next.get()
  assert.is(requests(await metrics(clients)), 4)
})

test('keeps what a stopping worker counted since it was last asked', async () => {
  const { one, two, ...clients } = await scene()
  await two.get()
  assert.is(requests(await metrics(clients)), 1)
  for (const get of [one.get, two.get, two.get]) await get()
  await deadline(two.gateway.stop(), 20_000, 'the worker to stop')
  await deadline(clients.aggregated.collectLast(two.endpoints), 30_000, 'its last counts')
  clients.aggregated.workerLeft(two.endpoints)
  const after = await metrics(clients)
  assert.is(requests(after), 4)
  const connections = after.filter(({ name }) => name === 'gateway_downstream_connections_total')
  assert.is(
    connections.reduce((sum, { value }) => sum + value, 0),
    4,
  )
  // A worker that is not running adds nothing.
  await deadline(clients.aggregated.collectLast(two.endpoints), 30_000, 'nothing')
  assert.is(requests(await metrics(clients)), 4)
})

test('does not count a worker of a removed slot as running', async () => {
  const workerStage = new WorkerStage(stage, TEXT)
  const one = await workerStage.worker(1)
  const two = await workerStage.worker(2)
  const clients = await workerStage.aggregatedAdmin(() => one.gateway.plan, { wanted: () => 1 })
  for (const { endpoints } of [one, two]) clients.aggregated.workerReady(endpoints)
  const page = readMetrics((await clients.stats('GET /metrics')).text)
  assert.is(valueOf(page, 'gateway_workers', { state: 'running' }), 1)
  assert.ok(valueOf(page, 'process_resident_memory_bytes', { worker: '2' })! > 0)
})

test('answers one dump with the counts of all workers added up', async () => {
  const { one, two, ...clients } = await scene()
  await one.get()
  await two.get()
  await two.get()
  const { status, text } = await clients.admin('GET /config_dump')
  assert.is(status, 200)
  const dump = JSON.parse(text) as { config: Record<string, unknown>; limits: { key: string }[] }
  assert.is(dump.config['adminAddr'], `127.0.0.1:${clients.port}`)
  assert.is(dump.limits.length, 1)
  assert.is(dump.limits[0]!.key, 'request.headers["x-user"]')
})

test('lists memory and tasks of each process', async () => {
  const { admin } = await scene()
  for (const path of ['/memory', '/debug/tasks']) {
    const answer = JSON.parse((await admin(`GET ${path}`)).text) as {
      supervisor: object
      workers: { worker: number }[]
    }
    assert.equal(
      answer.workers.map(({ worker }) => worker),
      [1, 2],
    )
    assert.ok('pid' in answer.supervisor)
    assert.ok((path === '/memory' ? 'process' : 'listeners') in answer.workers[0]!)
  }
})

test('sets the log level of all workers, also of one that starts later', async () => {
  const { workerStage, one, two, ...clients } = await scene()
  const { status, text } = await clients.admin('POST /logging?level=warn,mcp=debug')
  assert.is(status, 200)
  assert.is(text, 'current log level is warn,mcp=debug\n')
  for (const { log } of [one, two, clients])
    assert.is(formatLogFilter(log.filter), 'warn,mcp=debug')
  const three = await workerStage.worker(2, 2)
  clients.aggregated.workerReady(three.endpoints)
  while (three.log.filter === three.log.initialFilter) await clients.admin('GET /logging')
  assert.is(formatLogFilter(three.log.filter), 'warn,mcp=debug')
  await clients.admin('POST /logging?level=error')
  for (const { log } of [one, two, three, clients]) assert.is(formatLogFilter(log.filter), 'error')
  assert.is((await clients.admin('POST /logging?reset')).status, 200)
  for (const { log } of [one, two, three, clients]) assert.is(formatLogFilter(log.filter), 'info')
  assert.is((await clients.admin('POST /logging?level=loud')).status, 400)
})

test('names the worker whose level cannot be set', async () => {
  const { workerStage, ...clients } = await scene()
  clients.aggregated.workerReady(
    await workerStage.scripted(3, (_request, response) => void response.writeHead(500).end()),
  )
  const { status, text } = await clients.admin('POST /logging?level=warn')
  assert.is(status, 502)
  assert.is(text, 'current log level is warn\ncannot set the level of worker 3: answered 500\n')
})

test('a worker that does not answer delays the response only briefly, and its entry has an error', async () => {
  const { workerStage, one, ...clients } = await scene()
  clients.aggregated.workerReady(await workerStage.scripted(3, () => {}))
  await one.get()
  const paths = ['/api/runtime', '/api/map', '/api/limits', '/api/mcp', '/api/logs']
  const [samples, memory, ...pages] = await Promise.all([
    metrics(clients),
    clients.admin('GET /memory'),
    ...paths.map((path) => clients.admin(`GET ${path}`)),
  ])
  assert.is(requests(samples), 1)
  assert.match(memory.text, '"error": "no answer after 3000 ms"')
  for (const { status } of pages) assert.is(status, 200)
})

test('readiness is that of the supervisor', async () => {
  const workerStage = new WorkerStage(stage, TEXT)
  const one = await workerStage.worker(1)
  let state: 'starting' | 'ready' = 'starting'
  const { readiness } = await workerStage.aggregatedAdmin(() => one.gateway.plan, {
    readiness: () => state,
  })
  assert.is((await readiness('GET /healthz/ready')).status, 503)
  state = 'ready'
  assert.is((await readiness('GET /healthz/ready')).status, 200)
})

test('/quitquitquit stops all workers', async () => {
  const workerStage = new WorkerStage(stage, TEXT)
  const one = await workerStage.worker(1)
  let quits = 0
  const { admin } = await workerStage.aggregatedAdmin(() => one.gateway.plan, {
    quit: () => quits++,
  })
  assert.is((await admin('POST /quitquitquit')).text, 'shutdown now\n')
  while (quits === 0) await admin('GET /logging')
  assert.is(quits, 1)
})

test('refuses pages of other sites', async () => {
  const { admin } = await scene()
  const { status } = await admin('GET /config_dump', { origin: 'http://evil.example' })
  assert.is(status, 403)
})

test.run()
