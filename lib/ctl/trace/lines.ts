// A trace as lines on standard output: the JSON of its events, or a plain list for terminals that can do no more.

import { once } from 'node:events'
import { plain, plainJson } from '../plain-text.ts'
import { explain, sentenceOf } from '../../trace-view/explain-outcome.ts'
import { labelOf, summaryOf } from '../../trace-view/event-summary.ts'
import { stepOf } from '../../trace-view/trace-event.ts'
import type { Step } from '../../trace-view/trace-event.ts'
import type { Sending } from './inject.ts'
import { Pursuit } from './pursuit.ts'
import type { Source } from './source.ts'

/** A trace of more than this is told step by step, but not summed up. */
const MOST_STEPS = 10_000

export async function printLines(
  source: Source,
  sending: Sending | null,
  form: 'json' | 'list',
): Promise<void> {
  if (source.kind === 'live' && sending === null) tell('waiting for a request…')
  const pursuit = new Pursuit(source, sending)
  const list = new List()
  pursuit.start('told')
  for await (const line of source.lines) {
    pursuit.seen()
    const text = form === 'json' ? jsonLine(line) : list.lineOf(line)
    if (!process.stdout.write(text + '\n')) await once(process.stdout, 'drain')
  }
  await pursuit.over()
  if (form === 'list') process.stdout.write(list.end())
}

/** As it came; only a terminal is spared what it would act on. */
function jsonLine(line: string): string {
  return process.stdout.isTTY ? plainJson(line) : line
}

class List {
  readonly #steps: Step[] = []
  #count = 0

  lineOf(line: string): string {
    const step = stepOf(line)
    if (this.#count < MOST_STEPS) this.#steps.push(step)
    const number = String(++this.#count).padStart(3)
    return plain(`${number}  ${labelOf(step.event).padEnd(15)}  ${summaryOf(step.event)}`)
  }

  /** What happened and why, where the trace tells. */
  end(): string {
    const found = explain(this.#steps)
    return found === null ? '' : `\n${plain(sentenceOf(found))}\n`
  }
}

/** Progress is for people: whoever reads a file of it has no use for it. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(words + '\n')
}
