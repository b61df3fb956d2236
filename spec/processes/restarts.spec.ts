// What SIGUSR2 does before, during and after a restart.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Mutex } from '../../lib/core/scheduling.ts'
import { RestartSignals } from '../../lib/processes/shutdown.ts'
import { LogRecorder } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'

const restarts = suite('process/restarts')
restarts.after.each(() => void process.removeAllListeners('SIGUSR2'))

class Restarted {
  readonly lines: Line[] = []
  times = 0
  end: (error?: Error) => void = () => {}
  readonly restarts = new RestartSignals({
    log: new LogRecorder((line) => this.lines.push(line)),
    mutex: new Mutex(),
    restart: () => {
      this.times++
      return new Promise((resolve, reject) => {
        this.end = (error) => (error === undefined ? resolve() : reject(error))
      })
    },
  })

  /** Sends this many signals and waits for their effects. */
  async ask(times = 1): Promise<void> {
    for (let i = 0; i < times; i++) process.emit('SIGUSR2')
    await nextTurn()
  }
}

restarts('a signal during the start waits until the gateway serves', async () => {
  const restarted = new Restarted()
  await restarted.ask(2)
  assert.is(restarted.times, 0)
  restarted.restarts.acceptSignals()
  await nextTurn()
  assert.is(restarted.times, 1)
})

restarts('signals during a restart cause one more restart', async () => {
  const restarted = new Restarted()
  restarted.restarts.acceptSignals()
  await restarted.ask()
  await restarted.ask(2)
  assert.is(restarted.times, 1)
  restarted.end()
  await nextTurn()
  assert.is(restarted.times, 2)
  restarted.end()
  await nextTurn()
  assert.is(restarted.times, 2)
})

restarts('a failed restart is logged without credentials, and the next may succeed', async () => {
  const restarted = new Restarted()
  restarted.restarts.acceptSignals()
  await restarted.ask()
  restarted.end(new Error('no https://u:s3cret@h/'))
  await nextTurn()
  const failed = restarted.lines.filter(({ level }) => level === 'error')
  assert.equal(failed, [
    { level: 'error', message: 'restart failed', error: 'no https://<redacted>@h/' },
  ])
  await restarted.ask()
  assert.is(restarted.times, 2)
})

restarts('no restart begins while the process stops', async () => {
  const restarted = new Restarted()
  restarted.restarts.acceptSignals()
  await restarted.ask()
  restarted.restarts.close()
  await restarted.ask()
  restarted.end()
  await nextTurn()
  await restarted.ask()
  assert.is(restarted.times, 1)
})

restarts.run()
