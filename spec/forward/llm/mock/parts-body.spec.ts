// The mock's bodies, with a clock that the spec turns.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { inFlight } from '../../../../lib/base/bounds/in-flight.ts'
import type { Sink } from '../../../../lib/base/types.ts'
import { PartsBody } from '../../../../lib/forward/llm/mock/parts-body.ts'
import type { Delivery, Later } from '../../../../lib/forward/llm/mock/parts-body.ts'

const body = suite('forward/llm/mock/parts-body')

/** Turned by hand: `turn` does what is due. */
class Clock {
  #due: (() => void)[] = []

  readonly later: Later = (act) => {
    this.#due.push(act)
    return () => void (this.#due = this.#due.filter((other) => other !== act))
  }

  get waiting(): number {
    return this.#due.length
  }

  turn(): void {
    for (const act of this.#due.splice(0)) act()
  }
}

/** Notes what it hears; `room` says whether it takes more. */
class Ear implements Sink {
  readonly heard: string[] = []
  room: (heard: readonly string[]) => boolean = () => true

  write(bytes: Buffer, from: number, to: number): boolean {
    this.heard.push(bytes.toString('utf8', from, to))
    return this.room(this.heard)
  }

  end(): void {
    this.heard.push('end')
  }

  cut(outcome: string): void {
    this.heard.push(outcome)
  }
}

function bodyOf(clock: Clock, delivery: Partial<Delivery> = {}): PartsBody {
  const parts = ['a', 'b', 'c'].map((part) => Buffer.from(part))
  const usual = { pace: 0, ending: 'end', length: -1, later: clock.later } as const
  return new PartsBody(parts, { ...usual, ...delivery })
}

/** What the process holds, beyond what it held at first. */
function held(): () => number {
  const before = inFlight.bytes
  return () => inFlight.bytes - before
}

body('counts what waits for a client, or for its time, and nothing else', () => {
  const kept = held()
  const ear = new Ear()
  ear.room = ({ length }) => length !== 1
  const stalled = bodyOf(new Clock())
  assert.is(kept(), 0)
  stalled.start(ear, 'content')
  assert.is(kept(), 2)
  stalled.resume()
  assert.is(kept(), 0)
  const clock = new Clock()
  const slow = bodyOf(clock, { pace: 1 })
  slow.start(new Ear(), 'content')
  assert.is(kept(), 2)
  clock.turn()
  assert.is(kept(), 1)
  slow.pause()
  assert.is(kept(), 1)
  slow.cancel()
  slow.cancel()
  assert.is(kept(), 0)
})

body('sends all of it at once', () => {
  const ear = new Ear()
  const whole = bodyOf(new Clock())
  assert.is(whole.framing, 'open')
  whole.start(ear, 'content')
  assert.equal(ear.heard, ['a', 'b', 'c', 'end'])
})

body('tells its length where it has one', () => {
  const whole = bodyOf(new Clock(), { length: 3 })
  assert.is(whole.framing, 'length')
  assert.is(whole.length, 3)
})

body('stops when the sink has no room, and goes on when it has', () => {
  const ear = new Ear()
  ear.room = () => false
  const held = bodyOf(new Clock())
  held.start(ear, 'content')
  assert.equal(ear.heard, ['a'])
  held.resume()
  assert.equal(ear.heard, ['a', 'b'])
  ear.room = () => true
  held.resume()
  assert.equal(ear.heard, ['a', 'b', 'c', 'end'])
  held.resume()
  assert.is(ear.heard.length, 4)
})

body('does not end before its last piece was taken', () => {
  const ear = new Ear()
  ear.room = (heard) => heard.length < 3
  const held = bodyOf(new Clock())
  held.start(ear, 'content')
  assert.equal(ear.heard, ['a', 'b', 'c'])
  held.resume()
  assert.equal(ear.heard, ['a', 'b', 'c', 'end'])
})

body('sends a piece whenever one is due', () => {
  const [ear, clock] = [new Ear(), new Clock()]
  bodyOf(clock, { pace: 50 }).start(ear, 'content')
  assert.equal(ear.heard, ['a'])
  clock.turn()
  assert.equal(ear.heard, ['a', 'b'])
  clock.turn()
  clock.turn()
  assert.equal(ear.heard, ['a', 'b', 'c', 'end'])
  assert.is(clock.waiting, 0)
})

body('waits for nothing while it is paused', () => {
  const [ear, clock] = [new Ear(), new Clock()]
  const slow = bodyOf(clock, { pace: 50 })
  slow.start(ear, 'content')
  slow.pause()
  assert.is(clock.waiting, 0)
  slow.resume()
  assert.equal(ear.heard, ['a', 'b'])
  assert.is(clock.waiting, 1)
})

body('leaves no timer behind when nobody wants the rest', () => {
  for (const delivery of [{ pace: 50 }, { ending: 'cut' }] as const) {
    const [ear, clock] = [new Ear(), new Clock()]
    const left = bodyOf(clock, delivery)
    left.start(ear, 'content')
    const { length } = ear.heard
    left.cancel()
    assert.is(clock.waiting, 0)
    left.resume()
    assert.is(ear.heard.length, length)
  }
})

body('stops at once when it is cancelled from within a write', () => {
  for (const pace of [0, 50]) {
    const [ear, clock] = [new Ear(), new Clock()]
    const left = bodyOf(clock, { pace })
    ear.room = () => {
      left.cancel()
      return true
    }
    left.start(ear, 'content')
    assert.equal(ear.heard, ['a'])
    assert.is(clock.waiting, 0)
  }
})

body('says nothing to those who come after it was cancelled', () => {
  const ear = new Ear()
  const left = bodyOf(new Clock())
  left.cancel()
  left.start(ear, 'content')
  assert.equal(ear.heard, [])
})

body('is cut in a turn of its own, behind what was sent', () => {
  const [ear, clock] = [new Ear(), new Clock()]
  bodyOf(clock, { ending: 'cut' }).start(ear, 'content')
  assert.equal(ear.heard, ['a', 'b', 'c'])
  clock.turn()
  assert.equal(ear.heard, ['a', 'b', 'c', 'backend_reset'])
  assert.is(clock.waiting, 0)
})

body.run()
