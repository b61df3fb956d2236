// A trace as lines on standard output: the JSON of its events, or a plain list for terminals that can do no more.

import { once } from 'node:events'
import { plain, plainJson } from '../plain-text.ts'
import { labelOf, summaryOf } from '../../base/trace-reading/summary.ts'
import { stepOf } from '../../base/trace-reading/step.ts'
import type { Sending } from './inject.ts'
import { Pursuit } from './pursuit.ts'
import type { Source } from './source.ts'

export async function printLines(
  source: Source,
  sending: Sending | null,
  form: 'json' | 'list',
): Promise<void> {
  if (source.kind === 'live' && sending === null) tell('waiting for a request…')
  const pursuit = new Pursuit(source, sending)
  pursuit.start('told')
  let count = 0
  for await (const line of source.lines) {
    count++
    pursuit.seen()
    const text = form === 'json' ? jsonLine(line) : listLine(line, count)
    if (!process.stdout.write(text + '\n')) await once(process.stdout, 'drain')
  }
  await pursuit.over()
}

/** As it came; only a terminal is spared what it would act on. */
function jsonLine(line: string): string {
  return process.stdout.isTTY ? plainJson(line) : line
}

function listLine(line: string, count: number): string {
  const step = stepOf(line)
  const number = String(count).padStart(3)
  return plain(`${number}  ${labelOf(step.event).padEnd(15)}  ${summaryOf(step.event)}`)
}

/** Progress is for people: whoever reads a file of it has no use for it. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(words + '\n')
}
