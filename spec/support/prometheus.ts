// Parses Prometheus text strictly, and checks it with promtool if that is installed.

import { spawnSync } from 'node:child_process'

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/
const VALUE = /^(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Throws at the first error. */
export function readMetrics(text: string): Sample[] {
  const samples: Sample[] = []
  const types = new Map<string, string>()
  const seen = new Set<string>()
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  for (const line of text.slice(0, -1).split('\n')) {
    const [, what, name = '', kind = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (what === 'TYPE') {
      if (types.has(name) || !NAME.test(name)) throw new Error(`TYPE: ${line}`)
      types.set(name, kind)
    }
    if (line.startsWith('#')) continue
    const sample = sampleOf(line)
    const family = sample.name.replace(/_(?:bucket|sum|count)$/, '')
    const isHistogram = types.get(family) === 'histogram'
    if (!isHistogram && !types.has(sample.name)) throw new Error(`no TYPE in front of: ${line}`)
    const key = line.slice(0, line.lastIndexOf(' '))
    if (seen.has(key)) throw new Error(`twice: ${key}`)
    seen.add(key)
    samples.push(sample)
  }
  return samples
}

function sampleOf(line: string): Sample {
  const [, name = '', written = '', value = ''] = LINE.exec(line) ?? []
  if (name === '' || !VALUE.test(value)) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  for (let rest = written; rest !== '';) {
    const [whole = '', label = '', text = ''] = LABEL.exec(rest) ?? []
    if (whole === '' || label in labels) throw new Error(`labels: ${line}`)
    labels[label] = text.replace(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

/** The value of the one series with at least these labels. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (one) =>
      one.name === name &&
      Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  )
  if (found.length > 1) throw new Error(`${found.length} series of ${name}`)
  return found[0]?.value
}

/** The complaints of promtool; '' if there are none, or without promtool. */
export function promtoolComplaints(text: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
    timeout: 30_000,
  })
  return status === null || status === 0 ? '' : stdout + stderr
}
