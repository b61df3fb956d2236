// Connections between workers, as the supervisor passes them on; what is passed here is no connection but counts its ends.

import type { SendHandle } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GIVE, GIVEN, JOIN, LEAVE, PEERS, TAKE, TAKEN } from '../../lib/base/processes/giving.ts'
import type { Given } from '../../lib/base/processes/giving.ts'
import { PassingOn } from '../../lib/workers/passing-on.ts'
import { HandTimer } from '../support/hand-timer.ts'
import { linkPair } from '../support/link-pair.ts'

const passing = suite('workers/passing-on')

class FakeHandle {
  closed = 0
  close(): void {
    this.closed++
  }
}

/** A worker's end, and what it heard. */
class Worker {
  readonly id: { slot: number; epoch: number }
  readonly taken: { given: Given; handle: unknown }[] = []
  readonly given: unknown[] = []
  peers: unknown = null
  readonly #link

  constructor(service: PassingOn, slot: number, epoch = 1) {
    const { here, there } = linkPair()
    this.id = { slot, epoch }
    this.#link = here
    here.on(PEERS, (names) => (this.peers = names))
    here.on(GIVEN, (number) => this.given.push(number))
    here.on(TAKE, (given, handle) => this.taken.push({ given: given as Given, handle }))
    service.born(this.id, there)
    here.tell(JOIN, null)
  }

  give(to: string, handle: FakeHandle): void {
    const given: Given = { number: 7, to, port: 80, unread: 'R0VU', moves: 1 }
    this.#link.tell(GIVE, given, handle as unknown as SendHandle)
  }

  leave(): void {
    this.#link.tell(LEAVE, null)
  }

  /** As a worker says before it reads. */
  take(): void {
    this.#link.tell(TAKEN, this.taken.at(-1)?.given.number)
  }
}

/** All that was said is heard. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

passing('every worker knows which others can be given something', async () => {
  const service = new PassingOn()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  assert.equal(one.peers, ['w1e1', 'w2e1'])
  service.gone(two.id)
  const next = new Worker(service, 2, 2)
  await quiet()
  assert.equal(one.peers, ['w1e1', 'w2e2'])
  assert.equal(next.peers, ['w1e1', 'w2e2'])
})

passing(
  'a connection goes to the worker it is for, and is let go when that has taken it',
  async () => {
    const service = new PassingOn()
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
    assert.equal(one.given, [7], 'the giver lets go of its end, too')
  },
)

passing('a connection for a worker that is gone comes back to its giver', async () => {
  const service = new PassingOn()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  service.gone(two.id)
  const handle = new FakeHandle()
  one.give('w2e1', handle)
  await quiet()
  assert.is(one.taken[0]!.handle, handle)
  assert.equal(one.peers, ['w1e1'])
  one.take()
  await quiet()
  assert.equal(one.given, [7])
})

passing('a worker that leaves is given nothing more, and lets go of what it has', async () => {
  const service = new PassingOn()
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

passing('a worker that dies before it takes a connection leaves nothing of it behind', async () => {
  const service = new PassingOn()
  const [one, two] = [new Worker(service, 1), new Worker(service, 2)]
  await quiet()
  const handle = new FakeHandle()
  one.give('w2e1', handle)
  await quiet()
  service.gone(two.id)
  await quiet()
  assert.is(handle.closed, 1)
  assert.equal(one.given, [7])
})

passing('a connection that never arrives is not waited for longer than a while', async () => {
  const timer = new HandTimer()
  let now = 0
  const service = new PassingOn(timer.every, () => now)
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

passing.run()
