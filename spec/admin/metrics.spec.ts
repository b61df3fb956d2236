// The statistics as text: every line by the grammar, and values where a scraper looks for them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { metricsEndpoints, metricsText } from '../../lib/admin/metrics.ts'
import { Histogram } from '../../lib/base/metrics.ts'
import type { Family } from '../../lib/base/metrics.ts'
import { adminWith } from '../support/admin.ts'
import { Stage } from '../support/gateway.ts'
import { promtoolComplaints, readMetrics, valueOf } from '../support/prometheus.ts'

const metrics = suite('admin/metrics')
const stage = new Stage()
metrics.after.each(() => stage.clear())

function family(series: Family['series'], kind: Family['kind'] = 'counter'): Family {
  return { name: 'things_total', kind, help: 'Things', series }
}

metrics('a family has its help, its type and a line for each series', () => {
  const text = metricsText([
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
  assert.is(metricsText([family([])]), '')
})

metrics('no label can break its line', () => {
  const evil = 'a"b\\c\nd{e="f"} 1\n# HELP'
  const text = metricsText([family([[{ name: evil }, 1]])])
  const [sample] = readMetrics(text)
  assert.is(sample?.labels['name'], evil)
  assert.is(text.split('\n').length, 4)
})

metrics('a bucket holds what those below it hold, up to all of them', () => {
  const histogram = new Histogram([1, 2, 5])
  for (const value of [0.5, 1, 1.5, 5, 9]) histogram.add(value)
  const text = metricsText([family([[{ a: 'x' }, histogram]], 'histogram')])
  const samples = readMetrics(text)
  const bucket = (le: string) => valueOf(samples, 'gateway_things_total_bucket', { le, a: 'x' })
  assert.equal(['1', '2', '5', '+Inf'].map(bucket), [2, 3, 4, 5])
  assert.is(valueOf(samples, 'gateway_things_total_sum'), 17)
  assert.is(valueOf(samples, 'gateway_things_total_count'), 5)
})

metrics('is there under both names, and collected anew each time', async () => {
  let asked = 0
  const ask = await adminWith(
    stage,
    metricsEndpoints(() => [family([[{}, ++asked]])]),
  )
  for (const path of ['/metrics', '/stats/prometheus']) {
    const { status, headers, text } = await ask(`GET ${path}`)
    assert.is(status, 200)
    assert.is(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    assert.is(valueOf(readMetrics(text), 'gateway_things_total'), asked)
  }
  assert.is((await ask('POST /metrics')).status, 405)
  assert.is((await ask('GET /')).status, 404)
})

metrics('the grammar refuses what is wrong', () => {
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
