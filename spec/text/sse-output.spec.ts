// Readers of event streams that are silent, slow or disconnected.

import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { KeepAliveWriter, MAX_OVERFLOW_LENGTH } from '../../lib/text/sse-output.ts'
import { deadline } from '../support/deadline.ts'
import { StalledWriter } from '../support/stalled-writer.ts'

const writers = suite('keep-alive writer')

const WAIT_MS = 30_000
const TICK_MS = 5

function open(maxStallMs = WAIT_MS): [StalledWriter, KeepAliveWriter] {
  const out = new StalledWriter()
  return [out, new KeepAliveWriter(out, { keepAliveMs: TICK_MS, maxStallMs })]
}

/** The timer does not keep the process alive: the deadline does. */
async function withDeadline<T>(promise: Promise<T>): Promise<T> {
  return deadline(promise, WAIT_MS, 'the reader to be disconnected')
}

writers('sends comments while the stream is silent and the reader takes them', async () => {
  const [out, writer] = open()
  out.drain()
  const commented = new Promise<void>((resolve) => {
    out.write = (text) => {
      out.written.push(text)
      if (out.written.length === 2) resolve()
    }
  })
  await withDeadline(commented)
  assert.equal(out.written, [': keepalive\n\n', ': keepalive\n\n'])
  writer.close()
})

writers('disconnects a reader that takes nothing for too long', async () => {
  const [out, writer] = open(4 * TICK_MS)
  writer.write('data: a\n\n')
  await withDeadline(once(out, 'close'))
  assert.is(out.state, 'destroyed')
  assert.equal(out.written, ['data: a\n\n'])
})

writers(
  'disconnects a reader that does not take the end, and writes nothing after the end',
  async () => {
    const [out, writer] = open(4 * TICK_MS)
    out.drain()
    writer.end()
    writer.write('data: late\n\n')
    assert.is(out.state, 'ended')
    await withDeadline(once(out, 'close'))
    assert.is(out.state, 'destroyed')
    assert.not.match(out.text, 'late')
  },
)

writers('bounds what is written to a full reader, and then disconnects it', () => {
  const [out, writer] = open()
  const half = 'a'.repeat(MAX_OVERFLOW_LENGTH / 2)
  writer.write(half)
  writer.write(half)
  assert.is(out.state, 'open')
  writer.write('a')
  assert.is(out.state, 'destroyed')
  assert.is(out.written.length, 2)
})

writers('calls every drain callback, and resets the bound', () => {
  const [out, writer] = open()
  let calls = 0
  writer.onDrain(() => calls++)
  writer.onDrain(() => calls++)
  writer.write('a'.repeat(MAX_OVERFLOW_LENGTH))
  out.drain()
  out.isFull = true
  writer.write('a'.repeat(MAX_OVERFLOW_LENGTH))
  assert.is(calls, 2)
  assert.is(out.state, 'open')
  writer.close()
  out.drain()
  assert.is(calls, 2)
})

writers.run()
