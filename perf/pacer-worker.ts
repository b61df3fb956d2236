// The worker of pacer.ts: sleeps on the shared cell until the next tick is due.
import { parentPort, workerData } from 'node:worker_threads'
import { PENDING, PERIOD } from './pacer.ts'
import { nowMicros } from './fixtures.ts'

const cells = workerData as Int32Array<SharedArrayBuffer>
let due = nowMicros()

for (;;) {
  const period = Atomics.load(cells, PERIOD)
  const left = due - nowMicros()
  if (period === 0) Atomics.wait(cells, PERIOD, 0)
  else if (left > 0) Atomics.wait(cells, PERIOD, period, left / 1000)
  else {
    // Missed ticks are not repeated: receivers count by the clock.
    due = Math.max(due + period, nowMicros())
    if (Atomics.exchange(cells, PENDING, 1) === 0) parentPort?.postMessage(0)
  }
}
