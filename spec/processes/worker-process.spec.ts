// One worker as its supervisor sees it, with a real process that does what it is told.

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

function start(word: string, more: Partial<WorkerOptions> = {}): WorkerProcess {
  const program = [childFile('worker')]
  const started = new WorkerProcess({ slot: 7, epoch: 2 }, { folder: FOLDER, program, ...more })
  started.link.on(CONFIG_MESSAGE, () => ({ begun: { namedFiles: [['', word]] }, now: null }))
  stage.add({ close: () => started.kill() })
  return started
}

function reasonOf({ ready }: WorkerProcess): Promise<string> {
  return deadline(ready.then(String, String), WAIT_MS, 'the worker to fail')
}

function howEnded({ ended }: WorkerProcess): Promise<string> {
  return deadline(ended, WAIT_MS, 'the worker to end')
}

worker('serves when it says so, and ends when it is told to', async () => {
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

worker('one that cannot start says why', async () => {
  assert.is(await reasonOf(start('refuse')), 'Error: 7 refuses')
})

worker('one that ends before it serves is told of', async () => {
  const one = start('serve', { program: ['-e', 'process.exit(4)'] })
  assert.is(await reasonOf(one), 'Error: worker 7 has ended before it served: code 4')
})

worker('one that does not serve in time is ended', async () => {
  const reason = await reasonOf(start('silent', { startDeadline: 20 }))
  assert.is(reason, 'Error: worker 7 has ended before it served: signal SIGKILL')
})

worker('one that does not stop is killed', async () => {
  const one = start('stuck', { killGrace: 20 })
  await deadline(one.ready, WAIT_MS, 'the worker')
  one.stop('linger', 20)
  assert.is(await howEnded(one), 'signal SIGKILL')
  // Nobody is there to hear it.
  one.stop('now', 0)
  one.kill()
  assert.is(one.state, 'gone')
})

worker.run()
