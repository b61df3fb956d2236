import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import { Ear } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'
import { HandTimer } from '../support/hand-timer.ts'

const refusals = suite('base/bounds/refusals')

function scene() {
  const lines: Line[] = []
  const timer = new HandTimer()
  const counted = new RefusalCounter(new Ear((line) => lines.push(line)), timer.every)
  return { lines, timer, counted }
}

refusals('counts by limit, and knows those that refused nothing', () => {
  const { counted } = scene()
  counted.count('maxHeadBytes', 10)
  counted.count('maxHeadBytes', 10)
  assert.is(counted.counts.get('maxHeadBytes'), 2)
  assert.is(counted.counts.get('maxConnections'), 0)
})

refusals('tells of a full house once, and when it is over', () => {
  const { lines, timer, counted } = scene()
  for (let left = 3; left > 0; left--) counted.count('maxConnections', 5)
  assert.equal(
    lines.map(({ message, limit, most }) => [message, limit, most]),
    [['limit reached', 'maxConnections', 5]],
  )
  timer.turn()
  counted.count('maxConnections', 5)
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
  counted.count('maxConnections', 5)
  assert.is(lines.length, 3)
})

refusals('does not tell of what one client asked too much of', () => {
  const { lines, timer, counted } = scene()
  counted.count('maxBodyBytes', 5)
  assert.equal([lines, timer.size], [[], 0])
})

refusals('looks no more once it is closed', () => {
  const { timer, counted } = scene()
  counted.count('maxConnections', 5)
  assert.is(timer.size, 1)
  counted.close()
  assert.is(timer.size, 0)
})

refusals.run()
