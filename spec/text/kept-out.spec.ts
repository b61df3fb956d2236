// Readers of event streams that are silent, slow or gone.

import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KeepAliveWriter, MAX_OVERFLOW_LENGTH } from '../../lib/text/sse-output.ts'
import { deadline } from '../support/deadline.ts'
import { StuckOut } from '../support/stuck-out.ts'

const kept = suite('base/sse/kept-out')

const WAIT_MS = 30_000
const TICK_MS = 5

function open(maxStallMs = WAIT_MS): [StuckOut, KeepAliveWriter] {
  const out = new StuckOut()
  return [out, new KeepAliveWriter(out, { keepAliveMs: TICK_MS, maxStallMs })]
}

/** The timer keeps no process alive: the deadline does. */
async function held<T>(promise: Promise<T>): Promise<T> {
  return deadline(promise, WAIT_MS, 'the reader to be let go')
}

kept('a comment shows that the stream lives, as long as it is taken', async () => {
  const [out, reader] = open()
  out.drain()
  const commented = new Promise<void>((resolve) => {
    out.write = (text) => {
      out.written.push(text)
      if (out.written.length === 2) resolve()
    }
  })
  await held(commented)
  assert.equal(out.written, [': keepalive\n\n', ': keepalive\n\n'])
  reader.close()
})

kept('a reader that takes nothing for long is let go', async () => {
  const [out, reader] = open(4 * TICK_MS)
  reader.write('data: a\n\n')
  await held(once(out, 'close'))
  assert.is(out.state, 'destroyed')
  assert.equal(out.written, ['data: a\n\n'])
})

kept(
  'a reader that does not take the end is let go, and nothing is written behind it',
  async () => {
    const [out, reader] = open(4 * TICK_MS)
    out.drain()
    reader.end()
    reader.write('data: late\n\n')
    assert.is(out.state, 'ended')
    await held(once(out, 'close'))
    assert.is(out.state, 'destroyed')
    assert.not.match(out.text, 'late')
  },
)

kept('what is written to a full reader is bounded: then it is let go', () => {
  const [out, reader] = open()
  const half = 'a'.repeat(MAX_OVERFLOW_LENGTH / 2)
  reader.write(half)
  reader.write(half)
  assert.is(out.state, 'open')
  reader.write('a')
  assert.is(out.state, 'destroyed')
  assert.is(out.written.length, 2)
})

kept('room is told to all who wait for it, and gives new room', () => {
  const [out, reader] = open()
  let calls = 0
  reader.onDrain(() => calls++)
  reader.onDrain(() => calls++)
  reader.write('a'.repeat(MAX_OVERFLOW_LENGTH))
  out.drain()
  out.isFull = true
  reader.write('a'.repeat(MAX_OVERFLOW_LENGTH))
  assert.is(calls, 2)
  assert.is(out.state, 'open')
  reader.close()
  out.drain()
  assert.is(calls, 2)
})

kept.run()
