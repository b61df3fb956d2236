// An event stream to a client that is fast, slow, or disconnected.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Sink } from '../../../../lib/core/types.ts'
import { ClientEventStream } from '../../../../lib/forward/mcp/endpoint/client-stream.ts'
import type { ClientEventStreamOwner } from '../../../../lib/forward/mcp/endpoint/client-stream.ts'

const events = suite('mcp/endpoint/event-stream')

/** Both ends of a stream, and their events. */
class Ends implements ClientEventStreamOwner, Sink {
  readonly heard: string[] = []
  /** Whether the client accepts more. */
  room: 'some' | 'none' = 'some'

  clientLeft(): void {
    this.heard.push('left')
  }

  queueDrained(): void {
    this.heard.push('drained')
  }

  write(bytes: Buffer, from: number, to: number): boolean {
    this.heard.push(bytes.toString('latin1', from, to))
    return this.room === 'some'
  }

  end(): void {
    this.heard.push('end')
  }

  cut(outcome: string): void {
    this.heard.push(`cut ${outcome}`)
  }

  take(): string[] {
    return this.heard.splice(0)
  }
}

function send(stream: ClientEventStream, ...texts: string[]): void {
  for (const text of texts) stream.send(Buffer.from(text))
}

events('queues events before it is read, then writes them at once', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  send(stream, 'a', 'bc')
  assert.equal([stream.queued, ends.take()], [3, []])
  stream.start(ends, 'content')
  assert.equal([stream.queued, ends.take()], [0, ['a', 'bc', 'drained']])
  send(stream, 'd')
  assert.equal(ends.take(), ['d', 'drained'])
})

events('waits while the client is slow, and counts the unsent bytes', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  stream.start(ends, 'content')
  ends.room = 'none'
  send(stream, 'abc', 'de')
  assert.equal(ends.take(), ['abc'])
  assert.equal([stream.queued, stream.unsent], [2, 5])
  stream.resume()
  assert.equal(ends.take(), ['de'])
  assert.equal([stream.queued, stream.unsent], [0, 2])
  ends.room = 'some'
  stream.resume()
  assert.equal([stream.unsent, ends.take()], [0, ['drained']])
})

events('ends after the last event, when the client has taken it', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  stream.start(ends, 'content')
  ends.room = 'none'
  send(stream, 'a', 'b')
  stream.end()
  stream.end()
  assert.equal(ends.take(), ['a'])
  ends.room = 'some'
  stream.resume()
  assert.equal(ends.take(), ['b', 'end', 'drained'])
  send(stream, 'late')
  stream.cancel()
  stream.cut('idle')
  assert.equal(ends.take(), [])
})

events('an end before it is read waits for the reader', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  send(stream, 'only')
  stream.end()
  assert.equal(ends.take(), [])
  stream.start(ends, 'content')
  assert.equal(ends.take(), ['only', 'end', 'drained'])
})

events('a disconnect is reported once, and queued events are dropped', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  stream.start(ends, 'content')
  ends.room = 'none'
  send(stream, 'a', 'b')
  stream.cancel()
  stream.cancel()
  assert.equal(ends.take(), ['a', 'left'])
  assert.is(stream.unsent, 0)
  stream.resume()
  send(stream, 'c')
  assert.equal(ends.take(), [])
})

events('a cut by the owner is reported only to the client', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  stream.start(ends, 'content')
  stream.cut('idle')
  stream.cut('idle')
  assert.equal(ends.take(), ['cut idle'])
})

events('sends a comment after a silence, but queues none for a slow client', () => {
  const ends = new Ends()
  const stream = new ClientEventStream(ends)
  stream.start(ends, 'content')
  const now = performance.now()
  stream.keepAlive(now, 1_000)
  assert.equal(ends.take(), [])
  ends.room = 'none'
  stream.keepAlive(now + 2_000, 1_000)
  stream.keepAlive(now + 4_000, 1_000)
  assert.equal(ends.take(), [': keep-alive\n\n'])
})

events.run()
