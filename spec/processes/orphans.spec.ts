// Child processes of a worker that died.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessLink } from '../../lib/core/process-link.ts'
import { CHILD_STARTED_MESSAGE, CHILD_ENDED_MESSAGE } from '../../lib/processes/worker-messages.ts'
import { OrphanedChildren } from '../../lib/processes/worker-watchdog.ts'
import { deadline } from '../support/deadline.ts'
import { isAlive, untilGone } from '../support/processes.ts'

const ID = { slot: 1, epoch: 1 }
const STUBBORN =
  "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); process.stdout.write('up')"

const orphans = suite('workers/orphans')
const started: number[] = []
orphans.after.each(() => {
  for (const pid of started.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
})

/** A process that ignores SIGTERM, in its own process group. */
async function stubborn(): Promise<number> {
  const child = spawn(process.execPath, ['-e', STUBBORN], { detached: true })
  const pid = child.pid ?? 0
  started.push(pid)
  await deadline(once(child.stdout, 'data'), 15_000, 'a child')
  return pid
}

orphans('are ended, except those that ended before the worker', async () => {
  const service = new OrphanedChildren(10)
  const link = new ProcessLink(() => {})
  service.workerStarted(ID, link)
  const [left, ended] = [await stubborn(), await stubborn()]
  link.receive({ kind: CHILD_STARTED_MESSAGE, body: left })
  link.receive({ kind: CHILD_STARTED_MESSAGE, body: ended })
  link.receive({ kind: CHILD_ENDED_MESSAGE, body: ended })
  service.workerGone(ID)
  await untilGone([left])
  assert.ok(isAlive(ended))
})

orphans('are killed at once when the supervisor exits', async () => {
  const service = new OrphanedChildren(1e6)
  const link = new ProcessLink(() => {})
  service.workerStarted(ID, link)
  const left = await stubborn()
  link.receive({ kind: CHILD_STARTED_MESSAGE, body: left })
  service.workerGone(ID)
  service.killAll()
  await untilGone([left])
})

orphans.run()
