import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ByteBudget, bytesInFlight, MemoryPressure } from '../../lib/core/byte-budgets.ts'

const pressures = suite('memory pressure')

pressures('is high from the limit on, until a tenth is free again', () => {
  const pressure = new MemoryPressure(1_000)
  const budget = new ByteBudget(10_000)
  const isHighAt = (bytes: number): boolean => {
    budget.release(budget.used)
    budget.tryReserve(bytes)
    assert.is(bytesInFlight.total, bytes)
    return pressure.isHigh
  }
  assert.equal([0, 999, 1_000, 950, 900, 899, 950, 999].map(isHighAt), [
    false,
    false,
    true,
    true,
    true,
    false,
    false,
    false,
  ])
  isHighAt(0)
})

pressures('reports the limit and its config key', () => {
  const { overloadError } = new MemoryPressure(1_000)
  assert.equal([overloadError.status, overloadError.limit], [503, ['maxBytesInFlight', 1_000]])
  assert.match(overloadError.message, 'at most 1000 (config.maxBytesInFlight)')
})

pressures.run()
