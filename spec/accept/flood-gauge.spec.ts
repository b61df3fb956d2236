import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FloodDetector } from '../../lib/accept/http2-session.ts'

const gauge = suite('accept/flood gauge')

const MIB = 1_048_576

gauge('lets a client leave some hundred streams at once, and then some a second', () => {
  const one = new FloodDetector(0)
  for (let i = 0; i < 500; i++) assert.not(one.countAbandonedStream(0))
  assert.ok(one.countAbandonedStream(0))
  const other = new FloodDetector(0)
  for (let i = 0; i < 10_000; i++) assert.not(other.countAbandonedStream(i * 40))
})

gauge('takes bytes that served something for no noise', () => {
  const one = new FloodDetector(0)
  for (let i = 1; i < 100; i++) assert.not(one.countIdleBytes(i, i * MIB, i * MIB, 0))
})

gauge('has enough of bytes that serve nothing', () => {
  const one = new FloodDetector(0)
  assert.not(one.countIdleBytes(0, MIB, 0, 0))
  assert.ok(one.countIdleBytes(0, MIB + 1, 0, 0))
})

gauge('waits for the use of what lies unread', () => {
  const one = new FloodDetector(0)
  assert.not(one.countIdleBytes(0, 8 * MIB, 0, 8 * MIB))
  assert.not(one.countIdleBytes(0, 8 * MIB, 8 * MIB, 0))
  assert.ok(one.countIdleBytes(0, 10 * MIB, 8 * MIB, 0))
})

gauge('forgives with time, and keeps no credit for it', () => {
  const one = new FloodDetector(0)
  assert.not(one.countIdleBytes(0, MIB, 0, 0))
  assert.not(one.countIdleBytes(16_000, 2 * MIB, 0, 0))
  assert.not(one.countIdleBytes(1_000_000, 2 * MIB, 0, 0))
  assert.ok(one.countIdleBytes(1_000_000, 4 * MIB, 0, 0))
})

gauge.run()
