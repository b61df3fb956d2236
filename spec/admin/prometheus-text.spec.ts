// The metrics as text: every line follows the grammar, and values are where a scraper reads them.

import { once } from 'node:events'
import { connect } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createMetricsEndpoints,
  formatMetricsInParts,
  formatMetrics,
  METRICS_PART_LENGTH,
} from '../../lib/admin/prometheus-text.ts'
import type { EndpointHandler } from '../../lib/admin/endpoint-types.ts'
import { Histogram } from '../../lib/core/metric-families.ts'
import type { MetricFamily, MetricSeries } from '../../lib/core/metric-families.ts'
import { adminOn, adminWith } from '../support/admin.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'
import { promtoolComplaints, readMetrics, valueOf } from '../support/prometheus.ts'

const metrics = suite('admin/metrics')
const stage = new Stage()
metrics.after.each(() => stage.clear())

function family(
  series: MetricFamily['series'],
  kind: MetricFamily['kind'] = 'counter',
): MetricFamily {
  return { name: 'things_total', kind, help: 'Things', series }
}

metrics('a family has its help, its type and a line for each series', () => {
  const text = formatMetrics([
    family([
      [{ a: 'x', b: 200 }, 3],
      [{}, 0.5],
    ]),
  ])
  assert.is(
    text,
    '# HELP gateway_things_total Things\n# TYPE gateway_things_total counter\n' +
      'gateway_things_total{a="x",b="200"} 3\ngateway_things_total 0.5\n',
  )
})

metrics('a family without series is left out', () => {
  assert.is(formatMetrics([family([])]), '')
})

metrics('no label can break its line', () => {
  const evil = 'a"b\\c\nd{e="f"} 1\n# HELP'
  const text = formatMetrics([family([[{ name: evil }, 1]])])
  const [sample] = readMetrics(text)
  assert.is(sample?.labels['name'], evil)
  assert.is(text.split('\n').length, 4)
})

metrics('labels contain no control characters, and different labels stay different', () => {
  const names = ['a\u001b[2Jb', 'a\\u001b[2Jb', 'a\\u005cu001b[2Jb', '\r\u0000\u007f\u009b', '\\u1']
  const text = formatMetrics([family(names.map((name) => [{ name }, 1]))])
  assert.not.match(text, /[^\P{Cc}\n]/u)
  assert.equal(
    readMetrics(text).map(({ labels }) => labels['name']),
    [
      'a\\u001b[2Jb',
      'a\\u005cu001b[2Jb',
      'a\\u005cu005cu001b[2Jb',
      '\\u000d\\u0000\\u007f\\u009b',
      '\\u1',
    ],
  )
})

metrics('buckets are cumulative', () => {
  const histogram = new Histogram([1, 2, 5])
  for (const value of [0.5, 1, 1.5, 5, 9]) histogram.add(value)
  const text = formatMetrics([family([[{ a: 'x' }, histogram]], 'histogram')])
  const samples = readMetrics(text)
  const bucket = (le: string) => valueOf(samples, 'gateway_things_total_bucket', { le, a: 'x' })
  assert.equal(['1', '2', '5', '+Inf'].map(bucket), [2, 3, 4, 5])
  assert.is(valueOf(samples, 'gateway_things_total_sum'), 17)
  assert.is(valueOf(samples, 'gateway_things_total_count'), 5)
})

metrics('is served under both names, and collected again each time', async () => {
  let collected = 0
  const ask = await adminWith(
    stage,
    createMetricsEndpoints(() => [family([[{}, ++collected]])]),
  )
  for (const path of ['/metrics', '/stats/prometheus']) {
    const { status, headers, text } = await ask(`GET ${path}`)
    assert.is(status, 200)
    assert.is(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    assert.is(valueOf(readMetrics(text), 'gateway_things_total'), collected)
  }
  assert.is((await ask('POST /metrics')).status, 405)
  assert.is((await ask('GET /')).status, 404)
})

/** A long family that records how many of its series are read in one turn of the event loop. */
class Watched {
  readonly family: MetricFamily
  maxPerTurn = 0
  #now = 0
  #state: 'on' | 'off' = 'on'

  constructor(count: number) {
    this.family = family(this.#series(count))
    this.#turn()
  }

  close(): void {
    this.#state = 'off'
  }

  *#series(count: number): Generator<MetricSeries> {
    for (let at = 0; at < count; at++) {
      this.maxPerTurn = Math.max(this.maxPerTurn, ++this.#now)
      yield [{ name: `number ${at}` }, at]
    }
  }

  #turn(): void {
    this.#now = 0
    if (this.#state === 'on') setImmediate(() => this.#turn())
  }
}

metrics('a long page is complete, and yields to other work', async () => {
  const count = 20_000
  const watched = stage.add(new Watched(count))
  const ask = await adminWith(
    stage,
    createMetricsEndpoints(() => [watched.family]),
  )
  const { text } = await ask('GET /metrics')
  const samples = readMetrics(text)
  assert.is(samples.length, count)
  assert.is(samples.at(-1)?.value, count - 1)
  assert.ok(text.length > 4 * METRICS_PART_LENGTH)
  const { maxPerTurn } = watched
  assert.ok(
    maxPerTurn * (text.length / count) < 3 * METRICS_PART_LENGTH,
    `${maxPerTurn} series in one turn`,
  )
})

metrics('parts are complete lines, and a histogram is in one part', () => {
  const histogram = new Histogram([1, 2])
  histogram.add(1)
  const series = Array.from({ length: 5_000 }, (_, at) => [{ at }, histogram] as const)
  const parts = [...formatMetricsInParts([family(series, 'histogram'), family([[{}, 1]])])]
  assert.ok(parts.length > 2)
  for (const part of parts) assert.match(part, /(?:_count\{.*\}|total) \d+\n$/)
})

/** A page without end, and a promise for the end of writing it. */
async function endless(maxStallMs?: number): Promise<{ port: number; over: Promise<void> }> {
  const { family: things } = stage.add(new Watched(Infinity))
  const { GET } = createMetricsEndpoints(() => [things], maxStallMs)['/metrics']!
  let end!: () => void
  const over = new Promise<void>((resolve) => (end = resolve))
  const handler: EndpointHandler = async (request, response, url) => {
    await GET!(request, response, url)
    end()
  }
  return { ...(await adminOn(stage, { '/metrics': { GET: handler } })), over }
}

metrics('a client that leaves ends the writing', async () => {
  const { port, over } = await endless()
  const client = await stage.client({ port, host: '127.0.0.1' })
  client.send('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await client.until(/things_total/)
  client.destroy()
  await deadline(over, 30_000, 'the end of it')
})

metrics('a client that stalls is waited for, and then cut', async () => {
  const { port, over } = await endless(50)
  const socket = connect(port, '127.0.0.1')
  stage.add({ close: () => socket.destroy() })
  socket.pause().on('error', () => {})
  socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await deadline(over, 30_000, 'the end of it')
  // The buffers of the system are read before the end.
  socket.resume()
  await deadline(once(socket, 'close'), 30_000, 'the end of the connection')
})

metrics('the grammar refuses invalid lines', () => {
  for (const wrong of [
    'a 1',
    'a 1\n',
    '# TYPE a counter\na{b="c} 1\n',
    '# TYPE a counter\na{b="c",b="d"} 1\n',
    '# TYPE a counter\na one\n',
    '# TYPE a counter\na 1\na 1\n',
    '# TYPE a counter\n# TYPE a counter\n',
  ])
    assert.throws(() => readMetrics(wrong), undefined, wrong)
  assert.is(promtoolComplaints('# HELP a_total A\n# TYPE a_total counter\na_total 1\n'), '')
})

metrics.run()
