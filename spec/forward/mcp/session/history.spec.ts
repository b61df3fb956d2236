import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ByteBudget, bytesInFlight } from '../../../../lib/core/byte-budgets.ts'
import { EventHistory } from '../../../../lib/forward/mcp/session/channel.ts'

const histories = suite('mcp/history')

const event = (text: string): Buffer => Buffer.from(text)
const texts = (history: EventHistory): string[] => history.eventsAfter(0, 0).map(String)

histories('releases the budget when it drops events and when it is closed', () => {
  const before = bytesInFlight.retained
  const together = new ByteBudget(100)
  const history = new EventHistory(together)
  for (let order = 1; order <= 300; order++) history.add(0, order, event('x'.repeat(1)))
  assert.is(together.used, 100)
  assert.is(bytesInFlight.retained - before, 100)
  history.close()
  history.add(0, 301, event('late'))
  assert.equal([together.used, bytesInFlight.retained - before, texts(history)], [0, 0, []])
})

histories(
  'drops its own events when the budget is used up, and keeps nothing if that is not enough',
  () => {
    const together = new ByteBudget(10)
    const [one, other] = [new EventHistory(together), new EventHistory(together)]
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
