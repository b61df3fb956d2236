// A worker that serves nothing; the text of its configuration selects its behaviour:
//   serve    starts, loads a configuration, and stops when it gets the message; also for any other text
//   refuse   cannot start, and cannot load this
//   first    workers of the first epoch except slot 1 cannot load this
//   silent   sends no message
//   stuck    starts, and does not stop
//   fall     starts, and exits
//   slow     takes a while to load this

import { setTimeout as wait } from 'node:timers/promises'
import type { ConfigTexts } from '../../../lib/config/load.ts'
import {
  CONFIG_MESSAGE,
  FAILED_MESSAGE,
  READY_MESSAGE,
  RELOAD_MESSAGE,
  STOP_MESSAGE,
} from '../../../lib/processes/worker-messages.ts'
import { readWorkerContext } from '../../../lib/processes/worker-context.ts'
import type { WorkerConfig } from '../../../lib/processes/supervisor.ts'

const SLOW_MS = 50

const context = readWorkerContext()!
const { link, slot, epoch } = context
process.once('disconnect', () => process.exit(1))
const { begun, now } = (await link.request(CONFIG_MESSAGE, null)) as WorkerConfig
let behaviour = wordOf(now ?? begun)
link.on('spec.behaviour', () => behaviour)
link.on('spec.fall', () => process.exit(3))
link.on(STOP_MESSAGE, () => {
  if (behaviour !== 'stuck') process.exit(0)
})
link.on(RELOAD_MESSAGE, async (body) => {
  const next = wordOf(body as ConfigTexts)
  if (next === 'slow') await wait(SLOW_MS)
  if (next === 'refuse' || (next === 'first' && epoch === 1 && slot > 1))
    throw new Error(`${slot} refuses`)
  behaviour = next
})
if (behaviour === 'refuse') await link.request(FAILED_MESSAGE, `${slot} refuses`)
else if (behaviour !== 'silent') link.notify(READY_MESSAGE, null)
if (behaviour === 'refuse' || behaviour === 'fall') process.exit(3)

function wordOf({ named }: ConfigTexts): string {
  return named[0]?.[1] ?? ''
}
