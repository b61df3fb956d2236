// Statistics of several processes as one page: lines that are alike in all but their value are added up, so that buckets of
// histograms are, too.

import { PART_LENGTH } from '../admin/metrics.ts'

/** Of one page: our own bounds on series are far below. Lines above it are left out. */
const MAX_LINES = 200_000

/** Of a process and not of the traffic: they say which process. */
const OF_PROCESS = /^(?:process|nodejs)_/

/** The same for all: one is enough. */
const ONCE = /_build_info$/

interface Family {
  /** The lines above it: what it is. */
  readonly head: string
  readonly kind: string
  /** By the name with its labels. */
  readonly values: Map<string, number>
}

export class StatsPage {
  readonly families = new Map<string, Family>()
  #help = ''
  #family: Family | null = null
  #rest = ''
  #lines = 0

  /** A page that is whole. */
  static of(text: string): StatsPage {
    const page = new StatsPage()
    page.read(text)
    return page
  }

  /** More of its text, as it comes. */
  read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
  }

  /**
   * Adds what another one has, but for what `known` tells of all. `worker` is whose it is; null for one whose process is
   * gone.
   */
  add({ families }: StatsPage, worker: string | null, known?: StatsPage): void {
    for (const [name, { head, kind, values }] of families) {
      const isOfProcess = OF_PROCESS.test(name)
      if (!isOfProcess && known?.families.has(name) === true) continue
      // What is just so many now is nothing of one that is gone.
      if (worker === null && (isOfProcess || kind === 'gauge')) continue
      const own = this.#of(name, head, kind)
      for (const [key, value] of values) {
        const at = isOfProcess ? marked(key, worker ?? '') : key
        if (this.#lines >= MAX_LINES && !own.values.has(at)) continue
        if (!own.values.has(at)) this.#lines++
        own.values.set(at, ONCE.test(name) ? value : (own.values.get(at) ?? 0) + value)
      }
    }
  }

  /** Its text, part by part. */
  *parts(): Generator<string, undefined> {
    let text = ''
    for (const { head, values } of this.families.values()) {
      if (values.size > 0) text += head
      for (const [key, value] of values) {
        text += `${key} ${value}\n`
        if (text.length < PART_LENGTH) continue
        yield text
        text = ''
      }
    }
    if (text !== '') yield text
    return undefined
  }

  #line(line: string): void {
    if (line.startsWith('# HELP ')) {
      this.#help = line
      return
    }
    if (line.startsWith('# TYPE ')) {
      const [, , name = '', kind = ''] = line.split(' ')
      this.#family = this.#of(name, `${this.#help}\n${line}\n`, kind)
      return
    }
    const at = line.lastIndexOf(' ')
    if (at <= 0 || this.#family === null || this.#lines >= MAX_LINES) return
    this.#lines++
    this.#family.values.set(line.slice(0, at), Number(line.slice(at + 1)))
  }

  #of(name: string, head: string, kind: string): Family {
    let family = this.families.get(name)
    if (family === undefined) this.families.set(name, (family = { head, kind, values: new Map() }))
    return family
  }
}

function marked(key: string, worker: string): string {
  const label = `worker="${worker}"`
  return key.endsWith('}') ? `${key.slice(0, -1)},${label}}` : `${key}{${label}}`
}
