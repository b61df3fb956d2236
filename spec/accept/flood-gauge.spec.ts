import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FloodGauge } from '../../lib/accept/flood-gauge.ts'

const gauge = suite('accept/flood gauge')

const MIB = 1_048_576

gauge('lets a client leave some hundred streams at once, and then some a second', () => {
  const one = new FloodGauge(0)
  for (let i = 0; i < 500; i++) assert.not(one.leave(0))
  assert.ok(one.leave(0))
  const other = new FloodGauge(0)
  for (let i = 0; i < 10_000; i++) assert.not(other.leave(i * 40))
})

gauge('takes bytes that served something for no noise', () => {
  const one = new FloodGauge(0)
  for (let i = 1; i < 100; i++) assert.not(one.hear(i, i * MIB, i * MIB, 0))
})

gauge('has enough of bytes that serve nothing', () => {
  const one = new FloodGauge(0)
  assert.not(one.hear(0, MIB, 0, 0))
  assert.ok(one.hear(0, MIB + 1, 0, 0))
})

gauge('waits for the use of what lies unread', () => {
  const one = new FloodGauge(0)
  assert.not(one.hear(0, 8 * MIB, 0, 8 * MIB))
  assert.not(one.hear(0, 8 * MIB, 8 * MIB, 0))
  assert.ok(one.hear(0, 10 * MIB, 8 * MIB, 0))
})

gauge('forgives with time, and keeps no credit for it', () => {
  const one = new FloodGauge(0)
  assert.not(one.hear(0, MIB, 0, 0))
  assert.not(one.hear(16_000, 2 * MIB, 0, 0))
  assert.not(one.hear(1_000_000, 2 * MIB, 0, 0))
  assert.ok(one.hear(1_000_000, 4 * MIB, 0, 0))
})

gauge.run()
