// /metrics in the Prometheus text format, written in parts so that a long page does not delay requests.

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

/** Characters that are written in one turn of the event loop: less than a millisecond of work. */
export const METRICS_PART_LENGTH = 65_536

/** A client that reads nothing for this long is disconnected. */
const MAX_STALL_MS = 30_000

type TextParts = Generator<string, undefined>

export function createMetricsEndpoints(
  collect: () => readonly MetricFamily[],
  maxStallMs = MAX_STALL_MS,
): EndpointTable {
  return createPagedEndpoints(() => formatMetricsInParts(collect()), maxStallMs)
}

/** The same for a page that the caller formats. */
export function createPagedEndpoints(
  page: () => TextParts | Promise<TextParts>,
  maxStallMs = MAX_STALL_MS,
): EndpointTable {
  const handle: EndpointHandler = async (_request, response) => {
    const parts = await page()
    const first = parts.next().value ?? ''
    if (first.length < METRICS_PART_LENGTH) {
      const length = Buffer.byteLength(first)
      response.writeHead(200, { ...HEADERS, 'content-length': length }).end(first)
      return
    }
    response.writeHead(200, HEADERS).write(first)
    for (const part of parts) {
      await nextTurn()
      if (response.destroyed) return
      if (!response.write(part)) await waitForDrain(response, maxStallMs)
    }
    response.end()
  }
  return { '/metrics': { GET: handle }, '/stats/prometheus': { GET: handle } }
}

/** Also resolves when the client has left or stalls; in both cases the response is destroyed. */
function waitForDrain(response: ServerResponse, maxStallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), maxStallMs)
    const finish = (): void => {
      clearTimeout(timer)
      response.off('drain', finish).off('close', finish)
      resolve()
    }
    response.on('drain', finish).on('close', finish)
  })
}

/** These names are used by other programs too, so they have no prefix. */
const UNPREFIXED_NAMES = /^(?:process|nodejs)_/

/** The whole page as one text. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  return [...formatMetricsInParts(families)].join('')
}

/** Yields complete lines, each histogram in one part. Empty histograms are left out, as they could fill most of the page. */
export function* formatMetricsInParts(
  families: readonly MetricFamily[],
): Generator<string, undefined> {
  let text = ''
  for (const { name, kind, help, series } of families) {
    const fullName = UNPREFIXED_NAMES.test(name) ? name : PREFIX + name
    let head = `# HELP ${fullName} ${help}\n# TYPE ${fullName} ${kind}\n`
    for (const [labels, value] of series) {
      if (value instanceof Histogram && value.isEmpty) continue
      text += head + formatSeries(fullName, labels, value)
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
  let cumulative = 0
  for (const [at, count] of counts.entries()) {
    cumulative += count
    text += `${name}_bucket{${before}le="${bounds[at] ?? '+Inf'}"} ${cumulative}\n`
  }
  return `${text}${name}_sum${rest} ${sum}\n${name}_count${rest} ${cumulative}\n`
}

function formatLabels(labels: MetricLabels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabelValue(value)}"`)
    .join()
}

/** Control characters, and backslashes that would look like an escaped one: so that different values stay different. */
const NEEDS_ESCAPE = /[^\P{Cc}\n]|\\(?=u[\da-f]{4})/gu

function escapeLabelValue(value: string | number): string {
  return String(value)
    .replace(NEEDS_ESCAPE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}
