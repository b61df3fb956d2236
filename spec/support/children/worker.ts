// A worker that serves nothing: it does what the one word of its configuration says.
//   serve    it starts, loads this, and stops when it is told to; so does any word that is not here
//   refuse   it cannot start, nor load this
//   first    those of the first epoch but slot 1 cannot load it; all others can
//   silent   it says nothing
//   stuck    it starts, and does not stop
//   fall     it starts, and ends
//   slow     it takes a while to load this

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

const seat = readWorkerContext()!
const { link, slot, epoch } = seat
process.once('disconnect', () => process.exit(1))
const { begun, now } = (await link.request(CONFIG_MESSAGE, null)) as WorkerConfig
let word = wordOf(now ?? begun)
link.on('spec.word', () => word)
link.on('spec.fall', () => process.exit(3))
link.on(STOP_MESSAGE, () => {
  if (word !== 'stuck') process.exit(0)
})
link.on(RELOAD_MESSAGE, async (body) => {
  const next = wordOf(body as ConfigTexts)
  if (next === 'slow') await wait(SLOW_MS)
  if (next === 'refuse' || (next === 'first' && epoch === 1 && slot > 1))
    throw new Error(`${slot} refuses`)
  word = next
})
if (word === 'refuse') await link.request(FAILED_MESSAGE, `${slot} refuses`)
else if (word !== 'silent') link.notify(READY_MESSAGE, null)
if (word === 'refuse' || word === 'fall') process.exit(3)

function wordOf({ namedFiles }: ConfigTexts): string {
  return namedFiles[0]?.[1] ?? ''
}
