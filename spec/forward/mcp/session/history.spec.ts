import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Budget } from '../../../../lib/base/bounds/budget.ts'
import { inFlight } from '../../../../lib/base/bounds/in-flight.ts'
import { History } from '../../../../lib/forward/mcp/session/history.ts'

const histories = suite('mcp/history')

const event = (text: string): Buffer => Buffer.from(text)
const texts = (history: History): string[] => history.after(0, 0).map(String)

histories('gives back what it kept, when it forgets and when it is closed', () => {
  const before = inFlight.kept
  const together = new Budget(100)
  const history = new History(together)
  for (let order = 1; order <= 300; order++) history.add(0, order, event('x'.repeat(1)))
  assert.is(together.used, 100)
  assert.is(inFlight.kept - before, 100)
  history.close()
  history.add(0, 301, event('late'))
  assert.equal([together.used, inFlight.kept - before, texts(history)], [0, 0, []])
})

histories(
  'forgets its own when others leave no room, and keeps nothing where that does not help',
  () => {
    const together = new Budget(10)
    const [one, other] = [new History(together), new History(together)]
    one.add(0, 1, event('12345678'))
    other.add(0, 1, event('ab'))
    other.add(0, 2, event('cd'))
    assert.equal(texts(other), ['cd'])
    other.add(0, 3, event('much too long'))
    assert.equal([texts(one), texts(other)], [['12345678'], []])
    one.close()
    other.add(0, 4, event('ef'))
    assert.equal(texts(other), ['ef'])
    other.close()
  },
)

histories.run()
