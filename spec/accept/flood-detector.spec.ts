import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FloodDetector } from '../../lib/accept/http2-session.ts'

const floodDetector = suite('accept/flood detector')

const MIB = 1_048_576

floodDetector('allows 500 abandoned streams at once, then 30 a second', () => {
  const detector = new FloodDetector(0)
  for (let i = 0; i < 500; i++) assert.not(detector.countAbandonedStream(0))
  assert.ok(detector.countAbandonedStream(0))
  const other = new FloodDetector(0)
  for (let i = 0; i < 10_000; i++) assert.not(other.countAbandonedStream(i * 40))
})

floodDetector('does not count useful bytes', () => {
  const detector = new FloodDetector(0)
  for (let i = 1; i < 100; i++) assert.not(detector.countUselessBytes(i, i * MIB, i * MIB, 0))
})

floodDetector('reports a flood above one MiB of useless bytes', () => {
  const detector = new FloodDetector(0)
  assert.not(detector.countUselessBytes(0, MIB, 0, 0))
  assert.ok(detector.countUselessBytes(0, MIB + 1, 0, 0))
})

floodDetector('allows bytes that are not read yet', () => {
  const detector = new FloodDetector(0)
  assert.not(detector.countUselessBytes(0, 8 * MIB, 0, 8 * MIB))
  assert.not(detector.countUselessBytes(0, 8 * MIB, 8 * MIB, 0))
  assert.ok(detector.countUselessBytes(0, 10 * MIB, 8 * MIB, 0))
})

floodDetector('lowers the count with time, and never below zero', () => {
  const detector = new FloodDetector(0)
  assert.not(detector.countUselessBytes(0, MIB, 0, 0))
  assert.not(detector.countUselessBytes(16_000, 2 * MIB, 0, 0))
  assert.not(detector.countUselessBytes(1_000_000, 2 * MIB, 0, 0))
  assert.ok(detector.countUselessBytes(1_000_000, 4 * MIB, 0, 0))
})

floodDetector.run()
