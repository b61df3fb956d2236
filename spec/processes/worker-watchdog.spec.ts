import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessLink } from '../../lib/core/process-link.ts'
import type { WorkerEndpoints } from '../../lib/processes/worker-messages.ts'
import { Watchdog } from '../../lib/processes/worker-watchdog.ts'
import { deadline } from '../support/deadline.ts'
import { LogRecorder } from '../support/gateway.ts'

const test = suite('workers/watchdog')

const DOOR: WorkerEndpoints = { slot: 2, epoch: 1, pid: 4711, admin: '', stats: '' }

/** A worker that answers this many times and then hangs. */
function worker(answers: number): ProcessLink {
  let left = answers
  const link: ProcessLink = new ProcessLink((message) => {
    const { number } = message as { number: number }
    if (left-- > 0) queueMicrotask(() => link.receive({ number, body: null }))
  })
  return link
}

test('kills a worker that no longer answers, and logs it', async () => {
  const logged: unknown[] = []
  const killed = new Promise<number>((kill) => {
    const log = new LogRecorder(({ message, worker: slot }) => logged.push([message, slot]))
    const watchdog = new Watchdog({ log, kill, checkIntervalMs: 1, maxSilenceMs: 20 })
    watchdog.workerStarted(DOOR, worker(3))
    watchdog.workerReady(DOOR)
  })
  assert.is(await deadline(killed, 30_000, 'the end of a worker that hangs'), 4711)
  assert.equal(logged, [['worker does not respond', 2]])
})

test('kills it although the clock says that the timeout is not over, as timers may fire early', async () => {
  const now = performance.now.bind(performance)
  performance.now = () => 0
  try {
    const killed = new Promise<number>((kill) => {
      const watchdog = new Watchdog({
        log: new LogRecorder(() => {}),
        kill,
        checkIntervalMs: 1,
        maxSilenceMs: 20,
      })
      watchdog.workerStarted(DOOR, worker(0))
      watchdog.workerReady(DOOR)
    })
    assert.is(await deadline(killed, 30_000, 'the end of a worker that hangs'), 4711)
  } finally {
    performance.now = now
  }
})

test('does nothing about a worker that has ended', async () => {
  const kill = (): void => assert.unreachable('it was ended twice')
  const watchdog = new Watchdog({
    log: new LogRecorder(() => {}),
    kill,
    checkIntervalMs: 1,
    maxSilenceMs: 20,
  })
  const link = worker(0)
  watchdog.workerStarted(DOOR, link)
  watchdog.workerReady(DOOR)
  link.close()
  watchdog.workerGone(DOOR)
  // Longer than the allowed silence.
  await new Promise((resolve) => setTimeout(resolve, 60))
})

test.run()
