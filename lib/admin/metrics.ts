// /metrics: the statistics as Prometheus reads them.

import { Histogram } from '../base/metrics.ts'
import type { Family, Labels } from '../base/metrics.ts'
import type { Endpoints, Handler } from './server.ts'

const PREFIX = 'gateway_'
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsEndpoints(collect: () => readonly Family[]): Endpoints {
  const tell: Handler = (_request, response) => {
    const text = metricsText(collect())
    response.writeHead(200, {
      'content-type': CONTENT_TYPE,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    response.end(text)
  }
  return { '/metrics': { GET: tell }, '/stats/prometheus': { GET: tell } }
}

/** Names that everybody's tools know stand without our prefix. */
const KNOWN = /^(?:process|nodejs)_/

/** Without what nobody measured yet, which could fill most of the page. */
export function metricsText(families: readonly Family[]): string {
  let text = ''
  for (const { name, kind, help, series: all } of families) {
    const series = all.filter(([, value]) => !(value instanceof Histogram && value.isEmpty))
    if (series.length === 0) continue
    const full = KNOWN.test(name) ? name : PREFIX + name
    text += `# HELP ${full} ${help}\n# TYPE ${full} ${kind}\n`
    for (const [labels, value] of series)
      text +=
        value instanceof Histogram
          ? histogramText(full, labels, value)
          : `${full}${labelsText(labels)} ${value}\n`
  }
  return text
}

/** A bucket holds what is in those below it, too. */
function histogramText(name: string, labels: Labels, { bounds, counts, sum }: Histogram): string {
  let text = ''
  let below = 0
  for (const [at, count] of counts.entries()) {
    below += count
    const le = bounds[at] ?? '+Inf'
    text += `${name}_bucket${labelsText({ ...labels, le })} ${below}\n`
  }
  const rest = labelsText(labels)
  return `${text}${name}_sum${rest} ${sum}\n${name}_count${rest} ${below}\n`
}

function labelsText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join()}}`
}

function escaped(value: string | number): string {
  return String(value).replace(/[\\"\n]/g, (letter) => (letter === '\n' ? '\\n' : `\\${letter}`))
}
