import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Measure } from '../../perf/measure.ts'
import { measureText, number, resultsOf, table, verdictText } from '../../perf/report.ts'
import { verdicts, type Results } from '../../perf/targets.ts'

const report = suite('perf report')

const measure: Measure = {
  title: 'A measure',
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

function judged(results: Results, name: string): { value: number; state: string } | undefined {
  return verdicts(results).find((verdict) => verdict.name.includes(name))
}

report('judges by wrk where there is wrk, by the own client otherwise', () => {
  const own = new Map([
    ['gateway' as const, { rate: 40 }],
    ['pipe' as const, { rate: 10 }],
  ])
  const byWrk = new Map([
    ['gateway' as const, { rate: 39 }],
    ['pipe' as const, { rate: 10 }],
  ])
  const without: Results = new Map([['small', own]])
  assert.is(judged(without, 'gateway ÷ pipe')?.state, 'met')
  const withWrk: Results = new Map([
    ['small', own],
    ['wrk', byWrk],
  ])
  assert.is(judged(withWrk, 'gateway ÷ pipe')?.value, 3.9)
  assert.is(judged(withWrk, 'gateway ÷ pipe')?.state, 'missed')
})

report('meets an upper bound from below and says what was not measured', () => {
  const weighed = (each: number): Results =>
    new Map([['idle', new Map([['gateway' as const, { each }]])]])
  assert.is(judged(weighed(14), 'idle')?.state, 'met')
  assert.is(judged(weighed(14.1), 'idle')?.state, 'missed')
  assert.is(judged(weighed(14), 'haproxy')?.state, 'not measured')
})

report('marks what is missed', () => {
  const results: Results = new Map([['idle', new Map([['gateway' as const, { each: 20 }]])]])
  const text = verdictText(verdicts(results))
  assert.match(text, /idle SSE streams: KiB each +\| +20\.00 \| +at most 14 \| +\*\*missed\*\* \|/)
})

report.run()
