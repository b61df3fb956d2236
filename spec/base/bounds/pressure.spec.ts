import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Budget } from '../../../lib/base/bounds/budget.ts'
import { inFlight } from '../../../lib/base/bounds/in-flight.ts'
import { Pressure } from '../../../lib/base/bounds/pressure.ts'

const pressures = suite('base/bounds/pressure')

pressures('is high from the bound on, until a tenth is free again', () => {
  const pressure = new Pressure(1_000)
  const budget = new Budget(10_000)
  const isHighAt = (bytes: number): boolean => {
    budget.give(budget.used)
    budget.take(bytes)
    assert.is(inFlight.bytes, bytes)
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

pressures('tells what is too much, and by which key', () => {
  const { fault } = new Pressure(1_000)
  assert.equal([fault.status, fault.limit], [503, ['maxBytesInFlight', 1_000]])
  assert.match(fault.message, 'at most 1000 bytes are held (config.maxBytesInFlight)')
})

pressures.run()
