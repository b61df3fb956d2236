// How connections are given to workers, and what happens to those that no worker has taken.

import type { SendHandle } from 'node:child_process'
import type { Server, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FileDescriptors } from '../../lib/core/descriptors.ts'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import { ProcessLink } from '../../lib/core/process-link.ts'
import { OPEN_PORT_MESSAGE } from '../../lib/processes/worker-messages.ts'
import { SharedPorts } from '../../lib/processes/worker-ports.ts'
import { deadline } from '../support/deadline.ts'

const PLACE = { host: '127.0.0.1', port: 80 }

/** The part of a connection that is sent to a worker. */
class Caller {
  state: 'open' | 'closed' = 'open'
  readonly #descriptor: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  get socket(): Socket {
    const handle = { fd: this.#descriptor, close: () => (this.state = 'closed') }
    return { _handle: handle, destroy: () => {} } as unknown as Socket
  }
}

/** The messages to a worker, and its answers. */
class Worker {
  readonly given: number[] = []
  readonly link = new ProcessLink((message, handle) => this.#hear(message, handle))
  #openRequests: ((body: unknown) => void)[] = []

  async open(place = PLACE): Promise<unknown> {
    const answer = new Promise((resolve) => this.#openRequests.push(resolve))
    this.link.receive({ kind: OPEN_PORT_MESSAGE, number: 1, body: place })
    return deadline(answer, 30_000, 'a port')
  }

  say(kind: string, body: unknown): void {
    this.link.receive({ kind: `workers.${kind}`, body })
  }

  #hear(message: object, handle: SendHandle | undefined): void {
    const { body } = message as { body: unknown }
    if (handle === undefined) this.#openRequests.shift()?.(body)
    else this.given.push((body as { number: number }).number)
  }
}

class PortScene {
  readonly closed: string[] = []
  readonly refusals = new RefusalCounter()
  readonly ports: SharedPorts
  readonly #servers: Server[] = []

  /** `limit`: of file descriptors. */
  constructor(limit = Infinity) {
    this.ports = new SharedPorts({
      openPort: (server, { port }) => {
        if (port === 1) return Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }))
        this.#servers.push(server)
        const opened = { port, close: () => this.closed.push(String(port)) }
        return port === 81 ? nextTurn(opened) : Promise.resolve(opened)
      },
      refusals: this.refusals,
      descriptors: new FileDescriptors(limit),
      reportError: () => {},
    })
  }

  get opened(): number {
    return this.#servers.length
  }

  async worker(): Promise<Worker> {
    const worker = new Worker()
    this.ports.serve(worker.link)
    await worker.open()
    return worker
  }

  call(descriptor = 3): Caller {
    const caller = new Caller(descriptor)
    this.#servers[0]?.emit('connection', caller.socket)
    return caller
  }
}

const shared = suite('workers/shared-ports')

shared('gives connections to the workers in turn, on a port that is opened once', async () => {
  const scene = new PortScene()
  const workers = [await scene.worker(), await scene.worker(), await scene.worker()]
  assert.is(scene.opened, 1)
  const callers = Array.from({ length: 30 }, () => scene.call())
  assert.equal(
    workers.map(({ given }) => given.length),
    [10, 10, 10],
  )
  // The supervisor closes its copy when the worker has the connection.
  for (const worker of workers) for (const number of worker.given) worker.say('taken', number)
  await nextTurn()
  assert.ok(callers.every(({ state }) => state === 'closed'))
  scene.ports.close()
})

shared(
  'gives a connection that a worker refused, or had not taken when it died, to another',
  async () => {
    const scene = new PortScene()
    const [first, second] = [await scene.worker(), await scene.worker()]
    const callers = [scene.call(), scene.call(), scene.call(), scene.call()]
    first.say('refused', first.given[0])
    await nextTurn()
    assert.is(first.given.length + second.given.length, 5)
    scene.ports.forget(first.link)
    for (const number of second.given) second.say('taken', number)
    await nextTurn()
    assert.is(new Set(second.given).size, 4)
    assert.ok(callers.every(({ state }) => state === 'closed'))
    scene.ports.close()
  },
)

shared(
  'gives a worker that takes nothing no more, and lets connections wait when all are busy',
  async () => {
    const scene = new PortScene()
    const [stuck, other] = [await scene.worker(), await scene.worker()]
    for (let i = 0; i < 500; i++) {
      scene.call()
      for (const number of other.given.splice(0)) other.say('taken', number)
      await nextTurn()
    }
    assert.is(stuck.given.length, 64)
    for (let i = 0; i < 100; i++) scene.call()
    assert.is(other.given.length, 64)
    for (const number of other.given.splice(0)) other.say('taken', number)
    await nextTurn()
    assert.is(other.given.length, 36)
    scene.ports.close()
  },
)

shared('closes and counts connections that would leave too few descriptors', async () => {
  const scene = new PortScene(100)
  const worker = await scene.worker()
  const [few, many] = [scene.call(74), scene.call(75)]
  await nextTurn()
  assert.is(worker.given.length, 1)
  assert.equal([few.state, many.state], ['open', 'closed'])
  assert.is(scene.refusals.counts.get('descriptors'), 1)
  scene.refusals.close()
  scene.ports.close()
})

shared('lets connections wait for a worker when the last one has died', async () => {
  const scene = new PortScene()
  const first = await scene.worker()
  scene.ports.forget(first.link)
  const caller = scene.call()
  assert.is(caller.state, 'open')
  const second = await scene.worker()
  assert.is(second.given.length, 1)
  assert.is(scene.opened, 1)
  scene.ports.close()
})

shared(
  'closes a port when the last worker closes it, or when no worker asks for it again',
  async () => {
    const scene = new PortScene()
    const [first, second] = [await scene.worker(), await scene.worker()]
    first.say('close', '127.0.0.1 80')
    await nextTurn()
    scene.ports.prune()
    assert.equal(scene.closed, [])
    second.say('close', '127.0.0.1 80')
    await nextTurn()
    assert.equal(scene.closed, ['80'])
    const third = await scene.worker()
    scene.ports.forget(third.link)
    assert.equal(scene.closed, ['80'])
    scene.ports.prune()
    assert.equal(scene.closed, ['80', '80'])
  },
)

shared(
  'reports the error code of a port that cannot be opened, and opens it when asked again',
  async () => {
    const scene = new PortScene()
    const worker = await scene.worker()
    for (let i = 0; i < 2; i++) {
      const answer = await worker.open({ host: '127.0.0.1', port: 1 })
      assert.equal(answer, { code: 'EACCES', message: 'no' })
    }
    scene.ports.close()
  },
)

shared('opens no port after close, not even one in progress', async () => {
  const scene = new PortScene()
  const worker = await scene.worker()
  const opening = worker.open({ host: '127.0.0.1', port: 81 })
  while (scene.opened < 2) await nextTurn()
  scene.ports.close()
  const stopping = { code: undefined, message: 'the gateway is stopping' }
  assert.equal(await opening, stopping)
  assert.equal(scene.closed, ['80', '81'])
  assert.equal(await worker.open(), stopping)
  assert.is(scene.opened, 2)
})

shared('moves a port to the address that was requested last, and back', async () => {
  const scene = new PortScene()
  const [first, second] = [await scene.worker(), await scene.worker()]
  const other = { host: '0.0.0.0', port: 80 }
  first.say('close', '127.0.0.1 80')
  assert.equal(await first.open(other), { port: 80 })
  assert.equal(scene.closed, ['80'])
  // It refused the new configuration, and the worker that accepted it has died.
  first.say('close', '0.0.0.0 80')
  await nextTurn()
  assert.is(scene.opened, 3)
  second.say('close', '127.0.0.1 80')
  await nextTurn()
  assert.equal(scene.closed, ['80', '80', '80'])
  scene.ports.close()
})

shared.run()
