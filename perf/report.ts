// Turns medians and verdicts into Markdown: the printed table and RESULTS.md are the same text.
import type { Column, Measure } from './measure.ts'
import type { MeasureName } from './options.ts'
import type { PeerName } from './peers.ts'
import { median, medians, spread, type Sample } from './stats.ts'
import type { Results, verdicts } from './targets.ts'

/** All rounds of one measure, or the reason why a peer has none. */
export type Outcome = { measure: Measure; rounds: Map<PeerName, Sample[]>; failures: string[] }

/** The medians, with what each peer adds to the direct connection's latency. */
export function resultsOf(outcomes: ReadonlyMap<MeasureName, Outcome>): Results {
  const results = new Map<MeasureName, Map<PeerName, Sample>>()
  for (const [name, { rounds }] of outcomes) {
    const rows = new Map<PeerName, Sample>()
    for (const [peer, samples] of rounds) rows.set(peer, medians(samples))
    const direct = rows.get('direct')
    for (const [peer, row] of rows) if (direct !== undefined) rows.set(peer, added(row, direct))
    results.set(name, rows)
  }
  return results
}

function added(row: Sample, direct: Sample): Sample {
  const over = (key: string): number => (row[key] ?? Number.NaN) - (direct[key] ?? Number.NaN)
  return { ...row, addedP50: over('p50'), addedP99: over('p99') }
}

export function measureText(outcome: Outcome, rows: ReadonlyMap<PeerName, Sample>): string {
  const { measure, rounds, failures } = outcome
  const titles = ['peer', ...measure.columns.map(({ title }) => title), 'spread %']
  const lines = [...rows].map(([peer, row]) => {
    const leading = leadingOf(measure, rounds.get(peer) ?? [])
    const cells = measure.columns.map((column) => cell(peer, row, column))
    return [peer, ...cells, leading.length < 2 ? '–' : (spread(leading) * 100).toFixed(0)]
  })
  const notes = failures.map((failure) => `- ${failure}\n`).join('')
  return `## ${measure.title}\n\n${table([titles, ...lines])}${notes === '' ? '' : `\n${notes}`}`
}

const QUIET = 0.2
const PROXY_ONLY = ['cpu', 'user', 'busy', 'capacity', 'addedP50', 'addedP99']

/** One line about how much the rounds differ, so that a run on a busy machine is not trusted. */
export function noiseText(outcomes: Iterable<Outcome>): string {
  const races = [...outcomes].filter(({ measure }) => !measure.fresh)
  const spreads = races.flatMap(({ measure, rounds }) =>
    [...rounds].flatMap(([peer, samples]) =>
      peer === 'direct' || samples.length < 2 ? [] : spread(leadingOf(measure, samples)),
    ),
  )
  if (spreads.length === 0) return 'One round only: nothing is known about noise.'
  const typical = median(spreads)
  const share = `${(typical * 100).toFixed(0)} %`
  if (typical <= QUIET) return `Rounds differ by ${share} (median): a quiet machine.`
  return `Rounds differ by ${share} (median): **the machine was not quiet**, run it again.`
}

function leadingOf(measure: Measure, samples: readonly Sample[]): number[] {
  return samples.map((sample) => sample[measure.leading] ?? Number.NaN)
}

/** Without a proxy the CPU time is the backend's, which would be read as a proxy's. */
function cell(peer: PeerName, row: Sample, { key, digits }: Column): string {
  const isProxyOnly = PROXY_ONLY.includes(key)
  if (peer === 'direct' && isProxyOnly) return '–'
  return number(row[key] ?? Number.NaN, digits)
}

export function verdictText(list: ReturnType<typeof verdicts>): string {
  const lines = list.map(({ name, sense, bound, aim, value, state }) => [
    name,
    number(value, 2),
    bound === undefined ? '–' : `${sense} ${bound}`,
    aim === undefined ? '–' : `${aim}`,
    state === 'missed' ? '**missed**' : state,
  ])
  return `## Targets\n\n${table([['', 'measured', 'target', 'aim', 'verdict'], ...lines])}`
}

export function number(value: number, digits: number): string {
  if (Number.isNaN(value)) return '–'
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** A Markdown table that also reads well as plain text: the first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const head = rows[0] ?? []
  const widths = head.map((_, at) => Math.max(3, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (row: readonly string[]): string => {
    const cells = widths.map((width, at) => {
      const text = row[at] ?? ''
      return at === 0 ? text.padEnd(width) : text.padStart(width)
    })
    return `| ${cells.join(' | ')} |\n`
  }
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return line(head) + line(rule) + rows.slice(1).map(line).join('')
}
