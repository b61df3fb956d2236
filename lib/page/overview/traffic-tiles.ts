// The tiles with current rates, latencies and memory, each with a chart of the last minutes.

import type { Sample } from '../../admin/page-api/page-api-types.ts'
import { bytesText } from '../../trace-view/amounts.ts'
import { html } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { Chart } from '../parts/chart.ts'
import type { Point, Series } from '../parts/chart.ts'
import { countText, latencyText, shareText } from '../parts/number-text.ts'

const MEBIBYTE = 1_048_576

interface Line {
  /** Empty where the tile has only one value. */
  readonly name: string
  readonly tone: Series['tone']
  /** The current value; null when there is none. */
  readonly now: number | null
  readonly of: (sample: Sample) => number | null
}

interface TileProps {
  readonly title: string
  readonly note?: string
  readonly lines: readonly Line[]
  readonly samples: readonly Sample[]
  readonly format: (value: number) => string
  /** Passed to the chart. */
  readonly least?: number
  readonly unit?: number
}

function Tile(props: TileProps): VNode {
  const { title, note, lines, samples, format, least, unit } = props
  const to = samples.at(-1)?.at ?? Date.now()
  const series = lines.map(({ name, tone, of }) => ({
    name: name || title,
    tone,
    points: pointsOf(samples, of),
  }))
  return html`
    <section class="card tile">
      <h2>${title}</h2>
      <p class="note-text dim">${note}</p>
      <p class="values">
        ${lines.map(
          ({ name, tone, now }) => html`
            <span class=${name === '' ? '' : `key tone-${tone}`}>
              <b>${now === null ? '–' : format(now)}</b>
              ${name !== '' && html`<span class="dim"> ${name}</span>`}
            </span>
          `,
        )}
      </p>
      <${Chart}
        name=${`${title}, last five minutes`}
        series=${series}
        from=${to - WINDOW_MS}
        to=${to}
        format=${format}
        least=${least}
        unit=${unit}
        height=${48}
      />
    </section>
  `
}

export function Tiles(props: { readonly samples: readonly Sample[] }): VNode {
  const { samples } = props
  return html`
    <div class="grid tiles">
      <${Requests} samples=${samples} />
      <${Errors} samples=${samples} />
      <${Latency} samples=${samples} />
      <${FirstToken} samples=${samples} />
      <${Tokens} samples=${samples} />
      <${Open} samples=${samples} />
      <${Memory} samples=${samples} />
      <${Cpu} samples=${samples} />
    </div>
  `
}

interface Props {
  readonly samples: readonly Sample[]
}

function Requests({ samples }: Props): VNode {
  const count = (sample: Sample): number => sample.requests
  return html`
    <${Tile}
      title="Requests per second"
      note=${`${countText(sumOf(samples, count))} in 5 min`}
      samples=${samples}
      lines=${[
        {
          name: '',
          tone: 1,
          now: rateOf(recentSamples(samples), count),
          of: (sample: Sample) => perSecond(sample, count(sample)),
        },
      ]}
      format=${countText}
      least=${5}
    />
  `
}

/** Errors (5xx) and refused requests (4xx) have different causes. */
function Errors({ samples }: Props): VNode {
  const requests = sumOf(samples, (sample) => sample.requests)
  const shareOf = (count: (sample: Sample) => number): number | null =>
    requests === 0 ? null : sumOf(samples, count) / requests
  const each = (count: (sample: Sample) => number) => (sample: Sample) =>
    sample.requests === 0 ? null : count(sample) / sample.requests
  const errors = (sample: Sample): number => sample.errors
  const refused = (sample: Sample): number => sample.refused
  return html`
    <${Tile}
      title="Errors and refused"
      note=${`${countText(sumOf(samples, errors))} failed, ${countText(sumOf(samples, refused))} refused`}
      samples=${samples}
      lines=${[
        { name: '5xx', tone: 2, now: shareOf(errors), of: each(errors) },
        { name: '4xx', tone: 3, now: shareOf(refused), of: each(refused) },
      ]}
      format=${shareText}
      least=${0.05}
    />
  `
}

function Latency({ samples }: Props): VNode {
  const [p50, p99] = [(sample: Sample) => sample.p50, (sample: Sample) => sample.p99]
  return html`
    <${Tile}
      title="Latency"
      note="to the first response byte"
      samples=${samples}
      lines=${[
        { name: 'p50', tone: 1, now: latestOf(samples, p50), of: p50 },
        { name: 'p99', tone: 5, now: latestOf(samples, p99), of: p99 },
      ]}
      format=${latencyText}
    />
  `
}

function FirstToken({ samples }: Props): VNode {
  const value = (sample: Sample): number | null => sample.firstToken
  return html`
    <${Tile}
      title="Time to first token"
      note="LLM, p50"
      samples=${samples}
      lines=${[{ name: '', tone: 1, now: latestOf(samples, value), of: value }]}
      format=${latencyText}
    />
  `
}

function Tokens({ samples }: Props): VNode {
  const [input, output] = [
    (sample: Sample) => sample.tokensIn,
    (sample: Sample) => sample.tokensOut,
  ]
  const each = (count: (sample: Sample) => number) => (sample: Sample) =>
    perSecond(sample, count(sample))
  return html`
    <${Tile}
      title="Tokens per second"
      note="LLM"
      samples=${samples}
      lines=${[
        { name: 'in', tone: 1, now: rateOf(recentSamples(samples), input), of: each(input) },
        { name: 'out', tone: 4, now: rateOf(recentSamples(samples), output), of: each(output) },
      ]}
      format=${countText}
      least=${10}
    />
  `
}

function Open({ samples }: Props): VNode {
  const last = samples.at(-1)
  return html`
    <${Tile}
      title="Open now"
      note=${last ? `${countText(last.connections)} connections` : ''}
      samples=${samples}
      lines=${[
        {
          name: 'streams',
          tone: 4,
          now: last?.openStreams ?? null,
          of: (sample: Sample) => sample.openStreams,
        },
        {
          name: 'requests',
          tone: 1,
          now: last?.openRequests ?? null,
          of: (sample: Sample) => sample.openRequests,
        },
      ]}
      format=${countText}
      least=${5}
    />
  `
}

function Memory({ samples }: Props): VNode {
  const value = (sample: Sample): number => sample.rss
  return html`
    <${Tile}
      title="Memory"
      note="resident"
      samples=${samples}
      lines=${[{ name: '', tone: 1, now: latestOf(samples, value), of: value }]}
      format=${bytesText}
      least=${100 * MEBIBYTE}
      unit=${MEBIBYTE}
    />
  `
}

function Cpu({ samples }: Props): VNode {
  const value = (sample: Sample): number => sample.cpu
  return html`
    <${Tile}
      title="CPU"
      note="of one core"
      samples=${samples}
      lines=${[{ name: '', tone: 1, now: latestOf(samples, value), of: value }]}
      format=${shareText}
      least=${1}
    />
  `
}

/** The time span that is shown. */
export const WINDOW_MS = 300_000
/** Slightly more than one per second, since timers are not exact. */
const MAX_SAMPLES = 330
/** The time span of a current value. */
const RECENT_MS = 10_000
/** A longer time between two samples is a gap in the line. */
const MAX_GAP_MS = 2_500

/** In ascending order, each once, none older than the window. */
export function mergeSamples(
  samples: readonly Sample[],
  more: readonly Sample[],
): readonly Sample[] {
  const last = samples.at(-1)?.at ?? 0
  const all = [...samples, ...more.filter(({ at }) => at > last)]
  const from = (all.at(-1)?.at ?? 0) - WINDOW_MS
  return all.filter(({ at }) => at > from).slice(-MAX_SAMPLES)
}

/** With a gap wherever samples are missing. */
export function pointsOf(
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): readonly Point[] {
  const points: Point[] = []
  let before = samples[0]?.at ?? 0
  for (const sample of samples) {
    if (sample.at - sample.span - before > MAX_GAP_MS) points.push([before + 1, null])
    points.push([sample.at, value(sample)])
    before = sample.at
  }
  return points
}

/** A count as a rate per second. */
export function perSecond({ span }: Sample, count: number): number {
  return span > 0 ? (count * 1_000) / span : 0
}

export function recentSamples(samples: readonly Sample[]): readonly Sample[] {
  const from = (samples.at(-1)?.at ?? 0) - RECENT_MS
  return samples.filter(({ at }) => at > from)
}

/** The mean rate over the time of all samples. */
export function rateOf(samples: readonly Sample[], count: (sample: Sample) => number): number {
  const span = samples.reduce((sum, sample) => sum + sample.span, 0)
  return span > 0 ? (sumOf(samples, count) * 1_000) / span : 0
}

export function sumOf(samples: readonly Sample[], count: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + count(sample), 0)
}

/** The latest value there is, since most seconds have no LLM request. */
export function latestOf(
  samples: readonly Sample[],
  value: (sample: Sample) => number | null,
): number | null {
  const found = samples.findLast((sample) => value(sample) !== null)
  return found === undefined ? null : value(found)
}
