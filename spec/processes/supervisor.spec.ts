// The set of workers as one, with real processes that do what they are told: started, replaced, reloaded, restarted, stopped.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import type { ConfigTexts } from '../../lib/config/load.ts'
import type { ProcessLink } from '../../lib/core/process-link.ts'
import { openDirectly } from '../../lib/core/listening-sockets.ts'
import { workerNameOf } from '../../lib/core/session-owner.ts'
import { SharedPorts } from '../../lib/processes/worker-ports.ts'
import { Supervisor } from '../../lib/processes/supervisor.ts'
import { childFile } from '../support/children/child-file.ts'
import { deadline } from '../support/deadline.ts'
import { Ear, Stage } from '../support/gateway.ts'
import { isAlive } from '../support/processes.ts'

const WAIT_MS = 30_000
const DEADLINE = 0
const KILL_GRACE = 5_000

const test = suite('workers/supervisor')
const stage = new Stage()
test.after.each(() => stage.clear())

interface Scene {
  readonly all: Supervisor
  /** Of those that live, by name. */
  readonly links: ReadonlyMap<string, ProcessLink>
  /** `ready w1e1`, `gone w1e1` … as they happen. */
  readonly events: string[]
  readonly messages: string[]
  /** Milliseconds that were to be waited. */
  readonly waits: number[]
  readonly until: (event: string) => Promise<void>
  /** What each worker has loaded, in the order of their names. */
  readonly words: () => Promise<string[]>
}

function written(word: string): ConfigTexts {
  return { inputs: [], namedFiles: [['', word]] } as unknown as ConfigTexts
}

function scene(word: string, killGrace = KILL_GRACE): Scene {
  const events: string[] = []
  const messages: string[] = []
  const waits: number[] = []
  const pids: number[] = []
  const links = new Map<string, ProcessLink>()
  let wake = (): void => {}
  const tell = (event: string): void => {
    events.push(event)
    wake()
  }
  const all = new Supervisor({
    count: 2,
    written: written(word),
    deadline: DEADLINE,
    folder: '/nowhere',
    program: [childFile('worker')],
    killGrace,
    log: new Ear(({ message }) => messages.push(String(message))),
    ports: new SharedPorts({
      openPort: openDirectly,
      refusals: new RefusalCounter(),
      troubled: () => {},
    }),
    services: [
      {
        workerStarted: (id, link) => {
          links.set(workerNameOf(id), link)
          tell(`born ${workerNameOf(id)}`)
        },
        workerReady: (door) => {
          pids.push(door.pid)
          tell(`ready ${workerNameOf(door)}`)
        },
        workerGone: (id) => {
          links.delete(workerNameOf(id))
          tell(`gone ${workerNameOf(id)}`)
        },
      },
    ],
    wait: async (ms) => void waits.push(ms),
  })
  const until = async (event: string): Promise<void> => {
    while (!events.includes(event)) {
      const change = new Promise<void>((resolve) => (wake = resolve))
      await deadline(change, WAIT_MS, `${event} behind ${events.join()}`)
    }
  }
  const words = (): Promise<string[]> => {
    const asked = [...links.values()].map(
      (link) => link.request('spec.word', null) as Promise<string>,
    )
    return deadline(Promise.all(asked), WAIT_MS, 'what they have loaded')
  }
  stage.add({
    close: async () => {
      await deadline(all.stop(), WAIT_MS, 'all to stop')
      assert.equal(pids.filter(isAlive), [])
    },
  })
  return { all, links, events, messages, waits, until, words }
}

async function started(word = 'serve', killGrace?: number): Promise<Scene> {
  const made = scene(word, killGrace)
  await deadline(made.all.start(), WAIT_MS, 'all to start')
  return made
}

function failure(work: Promise<void>): Promise<string> {
  return deadline(work.then(String, String), WAIT_MS, 'a failure')
}

test('one that cannot start fails the start, and none is left', async () => {
  const { all, links, events } = scene('refuse')
  assert.match(await failure(all.start()), /^Error: \d refuses$/)
  assert.equal(events.filter((event) => event.startsWith('gone')).toSorted(), [
    'gone w1e1',
    'gone w2e1',
  ])
  assert.is(links.size, 0)
})

test('one that dies is replaced at once, the next ones later each time', async () => {
  const { all, links, waits, until, messages } = await started()
  assert.is(all.readiness, 'ready')
  for (const epoch of [1, 2, 3, 4]) {
    links.get(`w1e${epoch}`)!.notify('spec.fall', null)
    await until(`ready w1e${epoch + 1}`)
  }
  assert.equal(waits, [1_000, 2_000, 4_000])
  assert.is(messages.filter((message) => message === 'worker died').length, 4)
  assert.equal([...links.keys()], ['w2e1', 'w1e5'])
})

test('all load a configuration, one after the other, or none does', async () => {
  const { all, words } = await started()
  const reloads = [all.reload(written('slow')), all.reload(written('second'))]
  await deadline(Promise.all(reloads), WAIT_MS, 'two configurations')
  assert.equal(await words(), ['second', 'second'])
  assert.match(await failure(all.reload(written('refuse'))), /Error: \d refuses/)
  assert.equal(await words(), ['second', 'second'])
})

test('one that refuses what others took is replaced before it stops', async () => {
  const { all, words, events, until } = await started()
  await deadline(all.reload(written('first')), WAIT_MS, 'a configuration')
  await until('gone w2e1')
  assert.ok(events.indexOf('ready w2e2') < events.indexOf('gone w2e1'))
  assert.equal(await words(), ['first', 'first'])
  assert.not.ok(events.includes('gone w1e1'))
  assert.not.ok(events.includes('born w2e3'))
})

test('a restart replaces all of them, and changes nothing when the new ones cannot start', async () => {
  const { all, words, until } = await started()
  assert.match(await failure(all.restart(written('refuse'), 2, DEADLINE)), /Error: \d refuses/)
  for (const event of ['gone w1e2', 'gone w2e2']) await until(event)
  assert.equal(await words(), ['serve', 'serve'])
  await deadline(all.restart(written('next'), 3, DEADLINE), WAIT_MS, 'a restart')
  for (const event of ['gone w1e1', 'gone w2e1', 'ready w3e1']) await until(event)
  assert.equal(await words(), ['next', 'next', 'next'])
  assert.is(all.replacedCount, 0)
})

test('a stop kills what does not stop, and nothing is replaced then', async () => {
  const { all, events } = await started('stuck', 20)
  const stopping = all.stop()
  assert.is(all.readiness, 'draining')
  await deadline(stopping, WAIT_MS, 'all to stop')
  assert.is(events.filter((event) => event.startsWith('born')).length, 2)
  assert.is(events.filter((event) => event.startsWith('gone')).length, 2)
})

test.run()
