// The supervisor with real worker processes: start, replacement, reload, restart and stop.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import type { ConfigTexts } from '../../lib/config/load.ts'
import type { ProcessLink } from '../../lib/core/process-link.ts'
import { openDirectly } from '../../lib/core/listening-sockets.ts'
import { workerNameOf } from '../../lib/core/session-owner.ts'
import { SharedPorts } from '../../lib/processes/worker-ports.ts'
import { Supervisor } from '../../lib/processes/supervisor.ts'
import type { WorkerService } from '../../lib/processes/supervisor.ts'
import { childFile } from '../support/children/child-file.ts'
import { deadline } from '../support/deadline.ts'
import { LogRecorder, Stage } from '../support/gateway.ts'
import { isAlive } from '../support/processes.ts'

const WAIT_MS = 30_000
const DEADLINE = 0
const KILL_GRACE = 5_000

const test = suite('workers/supervisor')
const stage = new Stage()
test.after.each(() => stage.clear())

interface Scene {
  readonly supervisor: Supervisor
  /** Links of running workers, by name. */
  readonly links: ReadonlyMap<string, ProcessLink>
  /** `ready w1e1`, `gone w1e1` … in their order. */
  readonly events: string[]
  readonly messages: string[]
  /** Milliseconds of each backoff. */
  readonly waits: number[]
  readonly until: (event: string) => Promise<void>
  /** What each worker has loaded, in the order of their names. */
  readonly behaviours: () => Promise<string[]>
}

function written(behaviour: string): ConfigTexts {
  return { inputs: [], named: [['', behaviour]] } as unknown as ConfigTexts
}

function scene(behaviour: string, killGrace = KILL_GRACE): Scene {
  const events: string[] = []
  const messages: string[] = []
  const waits: number[] = []
  const pids: number[] = []
  const links = new Map<string, ProcessLink>()
  let wake = (): void => {}
  const record = (event: string): void => {
    events.push(event)
    wake()
  }
  const observer: WorkerService = {
    workerStarted: (id, link) => {
      links.set(workerNameOf(id), link)
      record(`born ${workerNameOf(id)}`)
    },
    workerReady: (worker) => {
      pids.push(worker.pid)
      record(`ready ${workerNameOf(worker)}`)
    },
    workerGone: (id) => {
      links.delete(workerNameOf(id))
      record(`gone ${workerNameOf(id)}`)
    },
  }
  const refusals = new RefusalCounter()
  const ports = new SharedPorts({ openPort: openDirectly, refusals, reportError: () => {} })
  const supervisor = new Supervisor({
    count: 2,
    written: written(behaviour),
    deadline: DEADLINE,
    folder: '/nowhere',
    program: [childFile('worker')],
    killGrace,
    log: new LogRecorder(({ message }) => messages.push(String(message))),
    ports,
    services: [observer],
    wait: async (ms) => void waits.push(ms),
  })
  const until = async (event: string): Promise<void> => {
    while (!events.includes(event)) {
      const change = new Promise<void>((resolve) => (wake = resolve))
      await deadline(change, WAIT_MS, `${event} after ${events.join()}`)
    }
  }
  const behaviours = (): Promise<string[]> => {
    const requests = [...links.values()].map(
      (link) => link.request('spec.behaviour', null) as Promise<string>,
    )
    return deadline(Promise.all(requests), WAIT_MS, 'what they have loaded')
  }
  stage.add({
    close: async () => {
      await deadline(supervisor.stop(), WAIT_MS, 'all to stop')
      assert.equal(pids.filter(isAlive), [])
    },
  })
  return { supervisor, links, events, messages, waits, until, behaviours }
}

async function started(behaviour = 'serve', killGrace?: number): Promise<Scene> {
  const made = scene(behaviour, killGrace)
  await deadline(made.supervisor.start(), WAIT_MS, 'all to start')
  return made
}

function failure(work: Promise<void>): Promise<string> {
  return deadline(work.then(String, String), WAIT_MS, 'a failure')
}

test('a worker that cannot start fails the start, and no worker is left', async () => {
  const { supervisor, links, events } = scene('refuse')
  assert.match(await failure(supervisor.start()), /^Error: \d refuses$/)
  assert.equal(events.filter((event) => event.startsWith('gone')).toSorted(), [
    'gone w1e1',
    'gone w2e1',
  ])
  assert.is(links.size, 0)
})

test('a worker that dies is replaced at once, the next ones later each time', async () => {
  const { supervisor, links, waits, until, messages } = await started()
  assert.is(supervisor.readiness, 'ready')
  for (const epoch of [1, 2, 3, 4]) {
    links.get(`w1e${epoch}`)!.notify('spec.fall', null)
    await until(`ready w1e${epoch + 1}`)
  }
  assert.equal(waits, [1_000, 2_000, 4_000])
  assert.is(messages.filter((message) => message === 'worker died').length, 4)
  assert.equal([...links.keys()], ['w2e1', 'w1e5'])
})

test('reloads run one after the other, and one that all workers refuse changes nothing', async () => {
  const { supervisor, behaviours } = await started()
  const reloads = [supervisor.reload(written('slow')), supervisor.reload(written('second'))]
  await deadline(Promise.all(reloads), WAIT_MS, 'two configurations')
  assert.equal(await behaviours(), ['second', 'second'])
  assert.match(await failure(supervisor.reload(written('refuse'))), /Error: \d refuses/)
  assert.equal(await behaviours(), ['second', 'second'])
})

test('a worker that refuses what others accepted is replaced before it stops', async () => {
  const { supervisor, behaviours, events, until } = await started()
  await deadline(supervisor.reload(written('first')), WAIT_MS, 'a configuration')
  await until('gone w2e1')
  assert.ok(events.indexOf('ready w2e2') < events.indexOf('gone w2e1'))
  assert.equal(await behaviours(), ['first', 'first'])
  assert.not.ok(events.includes('gone w1e1'))
  assert.not.ok(events.includes('born w2e3'))
})

test('a restart replaces all workers, and changes nothing when the new ones cannot start', async () => {
  const { supervisor, behaviours, until } = await started()
  assert.match(
    await failure(supervisor.restart(written('refuse'), 2, DEADLINE)),
    /Error: \d refuses/,
  )
  for (const event of ['gone w1e2', 'gone w2e2']) await until(event)
  assert.equal(await behaviours(), ['serve', 'serve'])
  await deadline(supervisor.restart(written('next'), 3, DEADLINE), WAIT_MS, 'a restart')
  for (const event of ['gone w1e1', 'gone w2e1', 'ready w3e1']) await until(event)
  assert.equal(await behaviours(), ['next', 'next', 'next'])
  assert.is(supervisor.replacedCount, 0)
})

test('a stop kills workers that do not stop, and replaces none', async () => {
  const { supervisor, events } = await started('stuck', 20)
  const stopping = supervisor.stop()
  assert.is(supervisor.readiness, 'draining')
  await deadline(stopping, WAIT_MS, 'all to stop')
  assert.is(events.filter((event) => event.startsWith('born')).length, 2)
  assert.is(events.filter((event) => event.startsWith('gone')).length, 2)
})

test.run()
