import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Link } from '../../lib/base/processes/link.ts'
import type { WorkerDoor } from '../../lib/workers/types.ts'
import { Watchdog } from '../../lib/workers/watchdog.ts'
import { deadline } from '../support/deadline.ts'
import { Ear } from '../support/gateway.ts'

const test = suite('workers/watchdog')

const DOOR: WorkerDoor = { slot: 2, epoch: 1, pid: 4711, admin: '', stats: '' }

/** A worker that answers so many times, and then hangs. */
function worker(answers: number): Link {
  let left = answers
  const link: Link = new Link((message) => {
    const { number } = message as { number: number }
    if (left-- > 0) queueMicrotask(() => link.hear({ number, body: null }))
  })
  return link
}

test('a worker that does not answer any more is ended, and that is told', async () => {
  const told: unknown[] = []
  const killed = new Promise<number>((kill) => {
    const log = new Ear(({ message, worker: slot }) => told.push([message, slot]))
    const watchdog = new Watchdog({ log, kill, look: 1, silent: 20 })
    watchdog.born(DOOR, worker(3))
    watchdog.ready(DOOR)
  })
  assert.is(await deadline(killed, 30_000, 'the end of a worker that hangs'), 4711)
  assert.equal(told, [['worker hangs', 2]])
})

test('it is ended also when the clock says that its time is not over: timers may be early by it', async () => {
  const now = performance.now.bind(performance)
  performance.now = () => 0
  try {
    const killed = new Promise<number>((kill) => {
      const watchdog = new Watchdog({ log: new Ear(() => {}), kill, look: 1, silent: 20 })
      watchdog.born(DOOR, worker(0))
      watchdog.ready(DOOR)
    })
    assert.is(await deadline(killed, 30_000, 'the end of a worker that hangs'), 4711)
  } finally {
    performance.now = now
  }
})

test('a worker that is gone is left alone', async () => {
  const kill = (): void => assert.unreachable('it was ended twice')
  const watchdog = new Watchdog({ log: new Ear(() => {}), kill, look: 1, silent: 20 })
  const link = worker(0)
  watchdog.born(DOOR, link)
  watchdog.ready(DOOR)
  link.close()
  watchdog.gone(DOOR)
  // Longer than it would be silent for.
  await new Promise((resolve) => setTimeout(resolve, 60))
})

test.run()
