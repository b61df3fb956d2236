// A worker that serves nothing: it does what the one word of its configuration says.
//   serve    it starts, loads this, and stops when it is told to; so does any word that is not here
//   refuse   it cannot start, nor load this
//   first    those of the first epoch but slot 1 cannot load it; all others can
//   silent   it says nothing
//   stuck    it starts, and does not stop
//   fall     it starts, and ends
//   slow     it takes a while to load this

import { setTimeout as wait } from 'node:timers/promises'
import type { Written } from '../../../lib/base/config/load.ts'
import { CONFIG, FAILED, READY, RELOAD, STOP } from '../../../lib/workers/messages.ts'
import { takeSeat } from '../../../lib/workers/seat.ts'
import type { WrittenInForce } from '../../../lib/workers/supervisor.ts'

const SLOW_MS = 50

const seat = takeSeat()!
const { link, slot, epoch } = seat
process.once('disconnect', () => process.exit(1))
const { begun, now } = (await link.ask(CONFIG, null)) as WrittenInForce
let word = wordOf(now ?? begun)
link.on('spec.word', () => word)
link.on('spec.fall', () => process.exit(3))
link.on(STOP, () => {
  if (word !== 'stuck') process.exit(0)
})
link.on(RELOAD, async (body) => {
  const next = wordOf(body as Written)
  if (next === 'slow') await wait(SLOW_MS)
  if (next === 'refuse' || (next === 'first' && epoch === 1 && slot > 1))
    throw new Error(`${slot} refuses`)
  word = next
})
if (word === 'refuse') await link.ask(FAILED, `${slot} refuses`)
else if (word !== 'silent') link.tell(READY, null)
if (word === 'refuse' || word === 'fall') process.exit(3)

function wordOf({ named }: Written): string {
  return named[0]?.[1] ?? ''
}
