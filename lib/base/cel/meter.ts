// What one evaluation may cost. Whatever makes or reads something large pays for it before or as it does, so that
// nothing an expression builds from itself, and nothing a client sends into one, grows without end.

import { MAX_LIST, MAX_STEPS, MAX_TEXT, REGEX_STEPS_PER_UNIT, TEXT_PER_UNIT } from './bounds.ts'
import { CelFault } from './errors.ts'
import type { Node } from './library.ts'
import { childrenOf, comprehensionOf } from './library.ts'

/** Operators that look at all of both sides. */
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])

/** Functions that look at all that is in a list or a map. */
const DEEP = new Set(['contains', 'toJson', 'to_json'])

/** Counts the elements that the comprehensions of one evaluation look at, and all work that grows with a size. */
export class Meter {
  readonly #most: number
  #steps = 0
  #left = 0

  /** Units of work. */
  constructor(most: number) {
    this.#most = most
  }

  reset(): void {
    this.#steps = MAX_STEPS
    this.#left = this.#most
  }

  /** One more element, for so many nodes of the tree. */
  step(nodes: number): void {
    if (--this.#steps < 0) throw new CelFault('too_many_steps')
    this.pay(nodes)
  }

  pay(units: number): void {
    if ((this.#left -= units) < 0) throw new CelFault('too_many_steps')
  }

  /** An operator or a quantifier may have swallowed the fault. */
  get isExhausted(): boolean {
    return this.#steps < 0 || this.#left < 0
  }

  /** For the most that a search costs: a regex of `size` instructions on so many characters. */
  payForSearch(length: number, size: number): void {
    this.pay((((length + 1) * size) / REGEX_STEPS_PER_UNIT) | 0)
  }

  /** For a value, but not for what is in it. */
  payFor(value: unknown): void {
    if (typeof value === 'string') this.pay(unitsOf(value))
    else if (typeof value === 'object' && value !== null) this.pay(shallow(value))
  }

  /** For a value and all in it, as often as it is in it. */
  payForAll(value: unknown): void {
    if (typeof value !== 'object' || value === null) return this.payFor(value)
    this.pay(1 + shallow(value))
    if (Array.isArray(value)) for (const item of value) this.payForAll(item)
    else if (value instanceof Map) for (const item of value.values()) this.payForAll(item)
    else if (Object.getPrototypeOf(value) === Object.prototype)
      for (const item of Object.values(value)) this.payForAll(item)
  }
}

/** No function looks at a whole map but `merge`, which has a bound of its own. */
function shallow(value: object): number {
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? unitsOf(value) : 1
}

/** Whole ones: counting in fractions takes twice as long. */
function unitsOf({ length }: { readonly length: number }): number {
  return (length / TEXT_PER_UNIT) | 0
}

/** What an expression costs at least if nothing cuts it short: its nodes, those in loops over literals more often. */
export function costOf(node: Node): number {
  const [first, ...rest] = childrenOf(node)
  if (first === undefined) return 1
  const often =
    comprehensionOf(node) !== undefined && first.op === 'list'
      ? (first.args as readonly Node[]).length
      : 1
  return rest.reduce((sum, child) => sum + often * costOf(child), 1 + costOf(first))
}

/** Makes a node of a checked tree pay. */
export function metered(node: Node, meter: Meter): void {
  const loop = comprehensionOf(node)
  if (loop !== undefined) {
    const { condition } = loop
    const nodes = childrenOf(node)
      .slice(1)
      .reduce((sum, child) => sum + sizeOf(child), 1)
    loop.condition = (accumulated) => {
      meter.step(nodes)
      return condition === undefined || condition(accumulated)
    }
  } else if (node.op === '+') meterSum(node, meter)
  else if (COMPARISONS.has(node.op)) meterComparison(node, meter)
  else if (node.op === 'in') meterMembership(node, meter)
  else if (node.op === 'call' || node.op === 'rcall') meterCall(node, meter)
}

function sizeOf(node: Node): number {
  return childrenOf(node).reduce((sum, child) => sum + sizeOf(child), 1)
}

function meterSum(node: Node, meter: Meter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    const most = Array.isArray(left) ? MAX_LIST : MAX_TEXT
    if (lengthOf(left) + lengthOf(right) > most) throw new CelFault('too_large')
    meter.payFor(left)
    meter.payFor(right)
    return handle(left, right, one, other)
  }
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array
    ? value.length
    : 0
}

/** Never longer than one of the two. */
function meterComparison(node: Node, meter: Meter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    meter.payForAll(left)
    return handle(left, right, one, other)
  }
}

function meterMembership(node: Node, meter: Meter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    // A list is compared with each element, and a text with none that is a list.
    if (Array.isArray(right))
      if (typeof left === 'object') meter.payForAll(right)
      else meter.pay(right.length)
    return handle(left, right, one, other)
  }
}

function meterCall(node: Node, meter: Meter): void {
  const { handle } = node
  if (handle === undefined) return
  const [name] = node.args as [string]
  const isDeep = DEEP.has(name)
  node.handle = (values, one, other) => {
    for (const value of values as readonly unknown[])
      if (isDeep) meter.payForAll(value)
      else meter.payFor(value)
    const result = handle(values, one, other)
    meter.payFor(result)
    return result
  }
}
