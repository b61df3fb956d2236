// The largest and the smallest of some numbers, and what is never the same twice.

import { randomUUID } from 'node:crypto'
import type { Environment } from '@marcbachmann/cel-js'
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { CelFault } from './errors.ts'

const SYNC = { async: false }

const MOST_COMPARED = 8

export function registerNumbers(environment: Environment): void {
  for (const [name, isBetter] of [
    ['max', (one: Comparable, best: Comparable) => one > best],
    ['min', (one: Comparable, best: Comparable) => one < best],
  ] as const) {
    const pick = (list: readonly unknown[]): unknown => bestOf(list, isBetter)
    environment.registerFunction(`${name}(list): dyn`, pick, SYNC)
    for (let count = 2; count <= MOST_COMPARED; count++) {
      const parameters = Array<string>(count).fill('dyn').join(', ')
      environment.registerFunction(
        `${name}(${parameters}): dyn`,
        (...values: unknown[]) => pick(values.slice(0, count)),
        SYNC,
      )
    }
  }
  environment
    .registerFunction('random(): double', () => Math.random(), SYNC)
    .registerFunction('uuid(): string', () => randomUUID(), SYNC)
}

/** An int and a double compare as what they are. */
type Comparable = bigint | number

function bestOf(
  list: readonly unknown[],
  isBetter: (one: Comparable, best: Comparable) => boolean,
): unknown {
  const [first, ...rest] = list
  if (first === undefined) throw new CelFault('index_out_of_bounds')
  let best: unknown = first
  let bestValue = comparable(first)
  for (const one of rest) {
    const value = comparable(one)
    if (!isBetter(value, bestValue)) continue
    best = one
    bestValue = value
  }
  return best
}

function comparable(value: unknown): Comparable {
  if (value instanceof UnsignedInt) return BigInt(String(value))
  if (typeof value === 'bigint' || typeof value === 'number') return value
  throw new CelFault('no_such_overload')
}
