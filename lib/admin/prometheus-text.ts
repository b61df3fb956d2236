// /metrics: the statistics as Prometheus reads them, written part by part, so that a long page does not hold up requests.

import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EndpointTable, EndpointHandler } from './endpoint-types.ts'
import { Histogram } from '../core/metric-families.ts'
import type { MetricFamily, MetricLabels } from '../core/metric-families.ts'

const PREFIX = 'gateway_'
const HEADERS = {
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** Letters that are written within one turn: less than a millisecond's work. */
export const METRICS_PART_LENGTH = 65_536

/** A reader that takes nothing for so long is gone. */
const MAX_STALL_MS = 30_000

type TextParts = Generator<string, undefined>

export function createMetricsEndpoints(
  collect: () => readonly MetricFamily[],
  maxStallMs = MAX_STALL_MS,
): EndpointTable {
  return createPagedEndpoints(() => formatMetricsInParts(collect()), maxStallMs)
}

/** The same for a page that somebody else writes. */
export function createPagedEndpoints(
  page: () => TextParts | Promise<TextParts>,
  maxStallMs = MAX_STALL_MS,
): EndpointTable {
  const tell: EndpointHandler = async (_request, response) => {
    const parts = await page()
    const first = parts.next().value ?? ''
    if (first.length < METRICS_PART_LENGTH) return writeShort(response, first)
    response.writeHead(200, HEADERS).write(first)
    for (const part of parts) {
      await nextTurn()
      if (response.destroyed) return
      if (!response.write(part)) await waitForDrain(response, maxStallMs)
    }
    response.end()
  }
  return { '/metrics': { GET: tell }, '/stats/prometheus': { GET: tell } }
}

function writeShort(response: ServerResponse, text: string): void {
  response.writeHead(200, { ...HEADERS, 'content-length': Buffer.byteLength(text) }).end(text)
}

/** Also when the reader has left, or takes nothing; then the response is destroyed. */
function waitForDrain(response: ServerResponse, maxStallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), maxStallMs)
    const over = (): void => {
      clearTimeout(timer)
      response.off('drain', over).off('close', over)
      resolve()
    }
    response.on('drain', over).on('close', over)
  })
}

/** Names that everybody's tools know stand without our prefix. */
const UNPREFIXED_NAMES = /^(?:process|nodejs)_/

/** The whole page, for what is short. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  return [...formatMetricsInParts(families)].join('')
}

/** Whole lines, and every histogram in one piece. Without what nobody measured yet, which could fill most of the page. */
export function* formatMetricsInParts(
  families: readonly MetricFamily[],
): Generator<string, undefined> {
  let text = ''
  for (const { name, kind, help, series } of families) {
    const full = UNPREFIXED_NAMES.test(name) ? name : PREFIX + name
    let head = `# HELP ${full} ${help}\n# TYPE ${full} ${kind}\n`
    for (const [labels, value] of series) {
      if (value instanceof Histogram && value.isEmpty) continue
      text += head + formatSeries(full, labels, value)
      head = ''
      if (text.length < METRICS_PART_LENGTH) continue
      yield text
      text = ''
    }
  }
  if (text !== '') yield text
  return undefined
}

function formatSeries(name: string, labels: MetricLabels, value: number | Histogram): string {
  const inner = formatLabels(labels)
  const rest = inner === '' ? '' : `{${inner}}`
  if (!(value instanceof Histogram)) return `${name}${rest} ${value}\n`
  const { bounds, counts, sum } = value
  const before = inner === '' ? '' : `${inner},`
  let text = ''
  let below = 0
  for (const [at, count] of counts.entries()) {
    // A bucket holds what is in those below it, too.
    below += count
    text += `${name}_bucket{${before}le="${bounds[at] ?? '+Inf'}"} ${below}\n`
  }
  return `${text}${name}_sum${rest} ${sum}\n${name}_count${rest} ${below}\n`
}

function formatLabels(labels: MetricLabels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabelValue(value)}"`)
    .join()
}

/** What a terminal would act on, and what could be taken for one of those once it is written out: no two become one. */
const UNSEEN = /[^\P{Cc}\n]|\\(?=u[\da-f]{4})/gu

function escapeLabelValue(value: string | number): string {
  return String(value)
    .replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/[\\"\n]/g, (letter) => (letter === '\n' ? '\\n' : `\\${letter}`))
}
