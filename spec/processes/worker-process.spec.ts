// A worker as the supervisor sees it, with a real process.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CONFIG_MESSAGE } from '../../lib/processes/worker-messages.ts'
import { WorkerProcess } from '../../lib/processes/worker-process.ts'
import type { WorkerOptions } from '../../lib/processes/worker-process.ts'
import { childFile } from '../support/children/child-file.ts'
import { deadline } from '../support/deadline.ts'
import { Stage } from '../support/gateway.ts'

const WAIT_MS = 30_000
const FOLDER = '/nowhere'

const worker = suite('workers/worker-process')
const stage = new Stage()
worker.after.each(() => stage.clear())

function start(behaviour: string, more: Partial<WorkerOptions> = {}): WorkerProcess {
  const program = [childFile('worker')]
  const started = new WorkerProcess({ slot: 7, epoch: 2 }, { folder: FOLDER, program, ...more })
  started.link.on(CONFIG_MESSAGE, () => ({ begun: { named: [['', behaviour]] }, now: null }))
  stage.add({ close: () => started.kill() })
  return started
}

function reasonOf({ ready }: WorkerProcess): Promise<string> {
  return deadline(ready.then(String, String), WAIT_MS, 'the worker to fail')
}

function howEnded({ ended }: WorkerProcess): Promise<string> {
  return deadline(ended, WAIT_MS, 'the worker to end')
}

worker('is ready when it says so, and ends when it is told to stop', async () => {
  const one = start('serve')
  assert.is(one.state, 'starting')
  await deadline(one.ready, WAIT_MS, 'the worker')
  assert.is(one.state, 'ready')
  assert.ok(one.endpoints.pid > 0)
  assert.is(one.endpoints.admin, `${FOLDER}/w7e2.admin`)
  one.stop('now', 0)
  assert.is(one.state, 'stopping')
  assert.is(await howEnded(one), 'code 0')
  assert.is(one.state, 'gone')
})

worker('reports why a worker cannot start', async () => {
  assert.is(await reasonOf(start('refuse')), 'Error: 7 refuses')
})

worker('reports a worker that exits before it is ready', async () => {
  const one = start('serve', { program: ['-e', 'process.exit(4)'] })
  assert.is(await reasonOf(one), 'Error: worker 7 exited before it was ready: code 4')
})

worker('kills a worker that is not ready in time', async () => {
  const reason = await reasonOf(start('silent', { startDeadline: 20 }))
  assert.is(reason, 'Error: worker 7 exited before it was ready: signal SIGKILL')
})

worker('kills a worker that does not stop', async () => {
  const one = start('stuck', { killGrace: 20 })
  await deadline(one.ready, WAIT_MS, 'the worker')
  one.stop('linger', 20)
  assert.is(await howEnded(one), 'signal SIGKILL')
  // The process has ended.
  one.stop('now', 0)
  one.kill()
  assert.is(one.state, 'gone')
})

worker.run()
