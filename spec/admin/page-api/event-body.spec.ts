// An event stream on a listener with a client that is slow, has left, or comes too late.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventWriter } from '../../../lib/text/sse-output.ts'
import { MAX_OVERFLOW_LENGTH } from '../../../lib/text/sse-output.ts'
import type { Outcome, Sink } from '../../../lib/core/types.ts'
import { UiEventBody } from '../../../lib/admin/page-api/page-backend.ts'
import { deadline } from '../../support/deadline.ts'

const body = suite('ui/event-body')

const WAIT_MS = 30_000
const PACE = { keepAliveMs: WAIT_MS, maxStallMs: WAIT_MS }

/** A client that reads only when the test says so. */
class Client implements Sink {
  text = ''
  takes: 'all' | 'one' = 'all'
  state: 'open' | 'ended' | Outcome = 'open'

  write(bytes: Buffer, from: number, to: number): boolean {
    assert.is(this.state, 'open')
    this.text += bytes.toString('utf8', from, to)
    return this.takes === 'all'
  }

  end(): void {
    this.state = 'ended'
  }

  cut(outcome: Outcome): void {
    this.state = outcome
  }
}

interface Scene {
  readonly stream: UiEventBody
  readonly client: Client
  readonly out: EventWriter
  readonly left: () => number
}

function open(act: (out: EventWriter) => void = () => {}, pace = PACE): Scene {
  let out: EventWriter | null = null
  let left = 0
  const stream = new UiEventBody((one) => {
    out = one
    act(one)
    return () => left++
  }, pace)
  const client = new Client()
  stream.start(client, 'content')
  return { stream, client, out: out!, left: () => left }
}

body('text is sent at once', () => {
  const { client, out } = open((one) => one.write('a'))
  assert.is(client.text, 'a')
  out.write('é')
  assert.is(client.text, 'aé')
  assert.not.ok(out.isFull)
})

body(
  'a full connection holds the text, and gets the rest in order when the client reads on',
  () => {
    const { stream, client, out } = open()
    let rooms = 0
    out.onDrain(() => rooms++)
    client.takes = 'one'
    out.write('a')
    assert.ok(out.isFull)
    out.write('b')
    out.write('c')
    assert.is(client.text, 'a')
    stream.resume()
    assert.is(client.text, 'ab')
    assert.is(rooms, 0)
    client.takes = 'all'
    stream.resume()
    assert.is(client.text, 'abc')
    assert.is(rooms, 1)
    assert.not.ok(out.isFull)
  },
)

body('text for a client that reads nothing is limited: then the stream is cut', () => {
  const { client, out, left } = open()
  client.takes = 'one'
  out.write('a')
  out.write('b'.repeat(MAX_OVERFLOW_LENGTH))
  assert.is(client.state, 'open')
  out.write('c')
  assert.is(client.state, 'idle')
  assert.is(left(), 1)
  out.write('d')
  assert.is(client.text, 'a')
})

body('a client that reads nothing for long is cut', async () => {
  const { client, out, left } = open(() => {}, { keepAliveMs: 5, maxStallMs: 10 })
  client.takes = 'one'
  out.write('a')
  const cut = new Promise<void>((resolve) => {
    client.cut = (outcome) => {
      client.state = outcome
      resolve()
    }
  })
  await deadline(cut, WAIT_MS, 'the cut')
  assert.is(client.state, 'idle')
  assert.is(client.text, 'a')
  assert.is(left(), 1)
})

body('the end is sent after the queued text', () => {
  const { stream, client, out, left } = open()
  client.takes = 'one'
  out.write('a')
  out.write('b')
  out.end()
  assert.is(client.state, 'open')
  client.takes = 'all'
  stream.resume()
  assert.is(client.text, 'ab')
  assert.is(client.state, 'ended')
  assert.is(left(), 1)
})

body('a client that leaves is released once, whichever side reports it', () => {
  const { stream, client, out, left } = open()
  stream.cancel()
  stream.cancel()
  out.destroy()
  out.end()
  out.write('a')
  stream.resume()
  assert.is(left(), 1)
  assert.is(client.text, '')
  assert.is(client.state, 'open')
})

body('a stream that ends before all is sent is released, too', () => {
  const { client, left } = open((out) => {
    out.write('a')
    out.end()
  })
  assert.is(client.text, 'a')
  assert.is(client.state, 'ended')
  assert.is(left(), 1)
})

body('a body that is never read is never opened', () => {
  let opened = 0
  const stream = new UiEventBody(() => {
    opened++
    return () => {}
  }, PACE)
  stream.cancel()
  stream.start(new Client(), 'content')
  assert.is(opened, 0)
})

body.run()
