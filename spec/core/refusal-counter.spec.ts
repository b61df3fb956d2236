import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import { LogRecorder } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'
import { HandTimer } from '../support/hand-timer.ts'

const refusals = suite('refusal counter')

function scene() {
  const lines: Line[] = []
  const timer = new HandTimer()
  const counter = new RefusalCounter(new LogRecorder((line) => lines.push(line)), timer.every)
  return { lines, timer, counter }
}

refusals('are counted by limit, including limits without refusals', () => {
  const { counter } = scene()
  counter.count('maxHeadBytes', 10)
  counter.count('maxHeadBytes', 10)
  assert.is(counter.counts.get('maxHeadBytes'), 2)
  assert.is(counter.counts.get('maxConnections'), 0)
})

refusals('of the process are logged once when they begin and once when they end', () => {
  const { lines, timer, counter } = scene()
  for (let left = 3; left > 0; left--) counter.count('maxConnections', 5)
  assert.equal(
    lines.map(({ message, limit, most }) => [message, limit, most]),
    [['limit reached', 'maxConnections', 5]],
  )
  timer.turn()
  counter.count('maxConnections', 5)
  timer.turn()
  assert.is(lines.length, 1)
  timer.turn()
  assert.equal(lines[1], {
    level: 'info',
    message: 'limit no longer reached',
    limit: 'maxConnections',
    refused: 4,
  })
  assert.is(timer.size, 0)
  counter.count('maxConnections', 5)
  assert.is(lines.length, 3)
})

refusals('of a single client are not logged', () => {
  const { lines, timer, counter } = scene()
  counter.count('maxBodyBytes', 5)
  assert.equal([lines, timer.size], [[], 0])
})

refusals('are no longer checked after close', () => {
  const { timer, counter } = scene()
  counter.count('maxConnections', 5)
  assert.is(timer.size, 1)
  counter.close()
  assert.is(timer.size, 0)
})

refusals.run()
