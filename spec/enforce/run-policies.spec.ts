import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GatewayError } from '../../lib/core/errors.ts'
import { Exchange } from '../../lib/core/exchange.ts'
import { BytesBody, buildTextReply } from '../../lib/core/replies.ts'
import type { Policy, Reply, ExchangeHandler, Verdict } from '../../lib/core/types.ts'
import { enforce } from '../../lib/enforce/run-policies.ts'
import { deadline } from '../support/deadline.ts'
import { requestOf } from '../support/exchange-of.ts'

const enforcing = suite('enforce')

const SOURCE = { address: '127.0.0.1', port: 1, label: '127.0.0.1:1', secure: false }
const CLIENT = { bytesWritten: 0, sendInterim() {}, respond() {}, cut() {} }

/** An exchange, and in which order things happen to it. */
class Scene {
  readonly heard: string[] = []
  readonly exchange: Exchange
  #wake: () => void = () => {}

  constructor() {
    const steps: ExchangeHandler = {
      serve: () => {},
      admit: () => undefined,
      onReply: (exchange, reply) => this.#relay(exchange, `answer ${reply.head.status}`),
      onFailure: (exchange, error) => this.#relay(exchange, `fail ${error.message}`),
      onSettled: () => this.hear('settle'),
    }
    const body = new BytesBody(Buffer.alloc(0))
    this.exchange = new Exchange(
      SOURCE,
      requestOf('GET / HTTP/1.1', 'host: a'),
      body,
      CLIENT,
      steps,
    )
  }

  hear(what: string): void {
    this.heard.push(what)
    this.#wake()
  }

  policy(name: string, verdict: () => Verdict): Policy {
    const request = (): Verdict => {
      this.hear(name)
      return verdict()
    }
    return { kind: name, request }
  }

  passing(name: string): Policy {
    return this.policy(name, () => undefined)
  }

  enforce(...policies: Policy[]): void {
    enforce(this.exchange, policies, () => this.hear('pass'))
  }

  async until(what: string): Promise<void> {
    while (!this.heard.includes(what)) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      await deadline(woken, 30_000, `${what}, not ${this.heard.join()}`)
    }
  }

  #relay(exchange: Exchange, what: string): void {
    exchange.phase = 'relay'
    this.hear(what)
  }
}

/** A verdict that comes when the spec says so. */
function later(): {
  verdict: Promise<Reply | undefined>
  say(reply?: Reply): void
  break(error: Error): void
} {
  let say: (reply?: Reply) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const verdict = new Promise<Reply | undefined>((resolve, reject) => {
    say = resolve
    fail = reject
  })
  return { verdict, say, break: fail }
}

/** Everything that promises have to say. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

enforcing('asks one after the other, and lets pass before it returns', () => {
  const scene = new Scene()
  scene.enforce(scene.passing('a'), { kind: 'silent' }, scene.passing('b'))
  assert.equal(scene.heard, ['a', 'b', 'pass'])
  const empty = new Scene()
  empty.enforce()
  assert.equal(empty.heard, ['pass'])
})

enforcing('asks nobody behind one that answers', () => {
  const scene = new Scene()
  scene.enforce(
    scene.passing('a'),
    scene.policy('b', () => buildTextReply(401, 'no')),
    scene.passing('c'),
  )
  assert.equal(scene.heard, ['a', 'b', 'answer 401'])
})

enforcing('waits where it must, and goes on in order', async () => {
  const scene = new Scene()
  const [first, second] = [later(), later()]
  scene.enforce(
    scene.policy('a', () => first.verdict),
    scene.passing('b'),
    scene.policy('c', () => second.verdict),
    scene.passing('d'),
  )
  await turn()
  assert.equal(scene.heard, ['a'])
  first.say()
  await scene.until('c')
  assert.equal(scene.heard, ['a', 'b', 'c'])
  second.say()
  await scene.until('pass')
  assert.equal(scene.heard, ['a', 'b', 'c', 'd', 'pass'])
})

enforcing('heeds an answer that was waited for, and one behind a wait', async () => {
  for (const replies of [[buildTextReply(401, 'no')], [undefined, buildTextReply(401, 'no')]]) {
    const scene = new Scene()
    const waits = replies.map(() => later())
    scene.enforce(...waits.map(({ verdict }, at) => scene.policy(`p${at}`, () => verdict)))
    for (const [at, reply] of replies.entries()) waits[at]!.say(reply)
    await scene.until('answer 401')
    assert.not(scene.heard.includes('pass'))
  }
})

enforcing('makes a fault of a policy that throws, now or later, and asks nobody else', async () => {
  const broken = (): never => {
    throw new Error('a bug')
  }
  for (const verdict of [broken, async () => broken()]) {
    const scene = new Scene()
    scene.enforce(scene.policy('a', verdict), scene.passing('b'))
    await scene.until('fail internal error')
    assert.equal(scene.heard, ['a', 'fail internal error'])
    assert.match(String(scene.exchange.error?.cause), 'a bug')
  }
})

enforcing('makes a fault of what goes wrong behind the wait, by its own code', async () => {
  const scene = new Scene()
  const wait = later()
  enforce(scene.exchange, [scene.policy('a', () => wait.verdict)], () => {
    throw new GatewayError('ROUTE_NOT_FOUND', 'route not found')
  })
  wait.say()
  await scene.until('fail route not found')
  assert.equal(scene.heard, ['a', 'fail route not found'])
})

enforcing('asks nothing more about a client that left while a policy waited', async () => {
  const ends: ((wait: ReturnType<typeof later>) => void)[] = [
    (wait) => wait.say(),
    (wait) => wait.say(buildTextReply(401, 'no')),
    (wait) => wait.break(new Error('a bug')),
  ]
  for (const end of ends) {
    const scene = new Scene()
    const wait = later()
    scene.enforce(
      scene.policy('a', () => wait.verdict),
      scene.passing('b'),
    )
    scene.exchange.abandon('client_closed')
    end(wait)
    await turn()
    assert.equal(scene.heard, ['a', 'settle'])
  }
})

enforcing('leaves an answer alone that went out while a policy waited', async () => {
  let cancelled = 0
  class Counted extends BytesBody {
    override cancel(): void {
      cancelled++
    }
  }
  const reply = { ...buildTextReply(401, 'no'), body: new Counted(Buffer.from('x')) }
  const ends: ((wait: ReturnType<typeof later>) => void)[] = [
    (wait) => wait.say(),
    (wait) => wait.say(reply),
    (wait) => wait.break(new Error('a bug')),
  ]
  for (const end of ends) {
    const scene = new Scene()
    const wait = later()
    scene.enforce(scene.policy('a', () => wait.verdict))
    scene.exchange.fail(new GatewayError('REQUEST_TIMEOUT', 'request timeout'))
    end(wait)
    await turn()
    assert.equal(scene.heard, ['a', 'fail request timeout'])
    assert.is(scene.exchange.phase, 'relay')
  }
  assert.is(cancelled, 1)
})

enforcing.run()
