// Connections that the supervisor passes from worker to worker; fake handles count how often they are closed.

import type { SendHandle } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  HANDOVER_OFFER,
  HANDOVER_DONE,
  HANDOVER_JOIN,
  HANDOVER_LEAVE,
  HANDOVER_PEERS,
  HANDOVER_DELIVER,
  HANDOVER_ACCEPTED,
} from '../../lib/processes/worker-messages.ts'
import type { HandoverMessage } from '../../lib/processes/worker-messages.ts'
import { WorkerConnectionHandover } from '../../lib/processes/connection-handover.ts'
import { HandTimer } from '../support/hand-timer.ts'
import { linkPair } from '../support/link-pair.ts'

const test = suite('workers/connection-handover')

class FakeHandle {
  closed = 0
  close(): void {
    this.closed++
  }
}

/** The worker's end of the link, and the messages that it got. */
class Worker {
  readonly id: { slot: number; epoch: number }
  readonly taken: { given: HandoverMessage; handle: unknown }[] = []
  readonly given: unknown[] = []
  peers: unknown = null
  readonly #link

  constructor(service: WorkerConnectionHandover, slot: number, epoch = 1) {
    const { here, there } = linkPair()
    this.id = { slot, epoch }
    this.#link = here
    here.on(HANDOVER_PEERS, (names) => (this.peers = names))
    here.on(HANDOVER_DONE, (number) => this.given.push(number))
    here.on(HANDOVER_DELIVER, (given, handle) =>
      this.taken.push({ given: given as HandoverMessage, handle }),
    )
    service.workerStarted(this.id, there)
    here.notify(HANDOVER_JOIN, null)
  }

  give(to: string, handle: FakeHandle): void {
    const given: HandoverMessage = { number: 7, to, port: 80, unread: 'R0VU', moves: 1 }
    this.#link.notify(HANDOVER_OFFER, given, handle as unknown as SendHandle)
  }

  leave(): void {
    this.#link.notify(HANDOVER_LEAVE, null)
  }

  /** What a worker sends before it reads from the connection. */
  take(): void {
    this.#link.notify(HANDOVER_ACCEPTED, this.taken.at(-1)?.given.number)
  }
}

/** All messages sent so far are delivered. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('tells every worker which workers accept connections', async () => {
  const service = new WorkerConnectionHandover()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  assert.equal(one.peers, ['w1e1', 'w2e1'])
  service.workerGone(two.id)
  const next = new Worker(service, 2, 2)
  await quiet()
  assert.equal(one.peers, ['w1e1', 'w2e2'])
  assert.equal(next.peers, ['w1e1', 'w2e2'])
})

test('delivers a connection to its target, and closes it here when the target has accepted it', async () => {
  const service = new WorkerConnectionHandover()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  const handle = new FakeHandle()
  one.give('w2e1', handle)
  await quiet()
  assert.is(two.taken.length, 1)
  assert.is(two.taken[0]!.handle, handle)
  const { port, unread, moves } = two.taken[0]!.given
  assert.equal({ port, unread, moves }, { port: 80, unread: 'R0VU', moves: 1 })
  assert.is(handle.closed, 0, 'it may still be on its way')
  assert.equal(one.given, [])
  two.take()
  await quiet()
  assert.is(handle.closed, 1)
  assert.equal(one.given, [7], 'the sender closes its copy, too')
})

test('returns a connection to its sender when the target worker is gone', async () => {
  const service = new WorkerConnectionHandover()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  service.workerGone(two.id)
  const handle = new FakeHandle()
  one.give('w2e1', handle)
  await quiet()
  assert.is(one.taken[0]!.handle, handle)
  assert.equal(one.peers, ['w1e1'])
  one.take()
  await quiet()
  assert.equal(one.given, [7])
})

test('delivers nothing more to a worker that leaves; an earlier connection is closed here once accepted', async () => {
  const service = new WorkerConnectionHandover()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  const [early, late] = [new FakeHandle(), new FakeHandle()]
  one.give('w2e1', early)
  await quiet()
  two.leave()
  await quiet()
  assert.equal(one.peers, ['w1e1'])
  one.give('w2e1', late)
  await quiet()
  assert.is(one.taken[0]!.handle, late)
  two.take()
  await quiet()
  assert.is(early.closed, 1)
})

test('closes the connections that a worker had not accepted when it died', async () => {
  const service = new WorkerConnectionHandover()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  const handle = new FakeHandle()
  one.give('w2e1', handle)
  await quiet()
  service.workerGone(two.id)
  await quiet()
  assert.is(handle.closed, 1)
  assert.equal(one.given, [7])
})

test('closes a connection that never arrives after a timeout', async () => {
  const timer = new HandTimer()
  let now = 0
  const service = new WorkerConnectionHandover(timer.every, () => now)
  const one = new Worker(service, 1)
  const two = new Worker(service, 2)
  await quiet()
  const [lost, late] = [new FakeHandle(), new FakeHandle()]
  one.give('w2e1', lost)
  await quiet()
  now = 20_000
  one.give('w2e1', late)
  await quiet()
  now = 40_000
  timer.turn()
  await quiet()
  assert.equal([lost.closed, late.closed], [1, 0])
  assert.equal(one.given, [7])
  two.take()
  await quiet()
  timer.turn()
  assert.equal([lost.closed, late.closed, timer.size], [1, 1, 0])
})

test.run()
