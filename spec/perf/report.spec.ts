import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Measure } from '../../perf/measure.ts'
import type { PeerName } from '../../perf/peers.ts'
import { measureText, noiseText, number, resultsOf, table, verdictText } from '../../perf/report.ts'
import { verdicts, type Results } from '../../perf/targets.ts'

const report = suite('perf report')

const measure: Measure = {
  title: 'A measure',
  speaks: 'http',
  columns: [
    { key: 'rate', title: 'req/s', digits: 0 },
    { key: 'cpu', title: 'CPU', digits: 1 },
    { key: 'addedP50', title: 'added', digits: 0 },
  ],
  leading: 'rate',
  fresh: false,
  round: async () => ({}),
}

report('aligns a table that is both Markdown and plain text', () => {
  const text = table([
    ['peer', 'req/s'],
    ['direct', '1,000'],
    ['a', '9'],
  ])
  assert.is(
    text,
    '| peer   | req/s |\n' +
      '| ------ | ----: |\n' +
      '| direct | 1,000 |\n' +
      '| a      |     9 |\n',
  )
})

report('groups thousands, fixes the digits and dashes what is missing', () => {
  assert.is(number(12_345.678, 0), '12,346')
  assert.is(number(3, 1), '3.0')
  assert.is(number(Number.NaN, 1), '–')
})

report('shows medians, what was added to direct, the spread and the failures', () => {
  const rounds = new Map([
    ['direct' as const, [{ rate: 100, cpu: 5, p50: 10 }]],
    ['pipe' as const, [90, 100, 110].map((rate) => ({ rate, cpu: 2.25, p50: 25 }))],
  ])
  const outcome = { measure, rounds, failures: ['nginx did not start'] }
  const rows = resultsOf(new Map([['small', outcome]])).get('small')
  assert.is(
    measureText(outcome, rows ?? new Map()),
    '## A measure\n\n' +
      '| peer   | req/s | CPU | added | spread % |\n' +
      '| ------ | ----: | --: | ----: | -------: |\n' +
      '| direct |   100 |   – |     – |        – |\n' +
      '| pipe   |   100 | 2.3 |    15 |       20 |\n' +
      '\n- nginx did not start\n',
  )
})

report('says whether the machine was quiet', () => {
  const of = (...rates: number[]): string => {
    const rounds = new Map([['pipe' as const, rates.map((rate) => ({ rate }))]])
    return noiseText([{ measure, rounds, failures: [] }])
  }
  assert.match(of(95, 100, 105), /10 % .*a quiet machine/)
  assert.match(of(50, 100, 105), /55 % .*not quiet/)
  assert.match(of(100), /One round only/)
})

function judged(results: Results, name: string): { value: number; state: string } | undefined {
  const found = verdicts(results).find((verdict) => verdict.name.includes(name))
  return found && { value: found.value, state: found.state }
}

report('judges speed by what a core could serve, not by what the load asked of it', () => {
  const results: Results = new Map([
    [
      'small',
      new Map([
        ['gateway' as const, { rate: 50, capacity: 50 }],
        ['relay' as const, { rate: 50, capacity: 100 }],
        ['pipe' as const, { rate: 12, capacity: 12 }],
      ]),
    ],
  ])
  assert.equal(judged(results, 'a core, gateway ÷ relay'), { value: 0.5, state: 'missed' })
  assert.is(judged(results, 'a core, gateway ÷ pipe')?.state, 'met')
  assert.equal(judged(results, 'as measured, gateway ÷ relay'), { value: 1, state: 'reported' })
})

report('meets an upper bound from below and says what was not measured', () => {
  const weighed = (each: number): Results =>
    new Map([['idle', new Map([['gateway' as const, { each }]])]])
  assert.is(judged(weighed(8), 'idle')?.state, 'aim met')
  assert.is(judged(weighed(12), 'idle')?.state, 'met')
  assert.is(judged(weighed(12.1), 'idle')?.state, 'missed')
  assert.is(judged(weighed(12), 'haproxy')?.state, 'not measured')
})

report('compares MCP with the better peer, and with none when one is missing', () => {
  const called = (peers: readonly (readonly [PeerName, number])[]): Results =>
    new Map([['mcp-busy', new Map(peers.map(([peer, rate]) => [peer, { rate }]))]])
  const name = '32 in flight: calls/s, gateway'
  const both = called([
    ['gateway', 900],
    ['supergateway', 300],
    ['mcp-proxy', 100],
  ])
  assert.equal(judged(both, name), { value: 3, state: 'met' })
  const one = called([
    ['gateway', 900],
    ['mcp-proxy', 100],
  ])
  assert.is(judged(one, name)?.state, 'not measured')
})

report('tells what MCP adds to direct stdio in milliseconds', () => {
  const rounds = new Map([
    ['direct' as const, [{ p50: 50 }]],
    ['gateway' as const, [{ p50: 250 }]],
  ])
  const results = resultsOf(new Map([['mcp-one', { measure, rounds, failures: [] }]]))
  assert.equal(judged(results, 'p50 added to direct stdio'), { value: 0.2, state: 'met' })
})

report('holds limits to what a chunk costs without them, and to microseconds', () => {
  const chunks = new Map([
    ['llm' as const, { cpu: 20 }],
    ['limited' as const, { cpu: 22 }],
  ])
  assert.equal(judged(new Map([['llm-sse', chunks]]), 'limited ÷ not'), {
    value: 1.1,
    state: 'met',
  })
  const checks = new Map([['gateway' as const, { requests: 0.2, tokens: 0.9, keyed: 2.1 }]])
  const results: Results = new Map([['limits-check', checks]])
  assert.is(judged(results, 'requests checked')?.state, 'met')
  assert.is(judged(results, 'by one of 1,024 keys')?.state, 'missed')
  assert.is(judged(results, '65,536 keys')?.state, 'not measured')
})

report('marks what is missed', () => {
  const results: Results = new Map([['idle', new Map([['gateway' as const, { each: 20 }]])]])
  const text = verdictText(verdicts(results))
  assert.match(
    text,
    /idle SSE streams: KiB each +\| +20\.00 \| +at most 12 \| +8 \| +\*\*missed\*\* \|/,
  )
})

report.run()
