// What one evaluation may cost. Whatever makes or reads something large pays for it before or as it does, so that
// nothing an expression builds from itself, and nothing a client sends into one, grows without end.

import { childNodesOf, comprehensionOf } from './cel-library.ts'
import type { CelNode } from './cel-library.ts'
import { CelFault } from './expression-errors.ts'

/** Operators that look at all of both sides. */
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])

/** Functions that look at all that is in a list or a map. */
const DEEP = new Set(['contains', 'toJson', 'to_json'])

/** Counts the elements that the comprehensions of one evaluation look at, and all work that grows with a size. */
export class WorkMeter {
  readonly #most: number
  #steps = 0
  #left = 0

  /** Units of work. */
  constructor(most: number) {
    this.#most = most
  }

  reset(): void {
    this.#steps = MAX_LOOP_ELEMENTS
    this.#left = this.#most
  }

  /** One more element, for so many nodes of the tree. */
  countElement(nodes: number): void {
    if (--this.#steps < 0) throw new CelFault('too_many_steps')
    this.charge(nodes)
  }

  charge(units: number): void {
    if ((this.#left -= units) < 0) throw new CelFault('too_many_steps')
  }

  /** An operator or a quantifier may have swallowed the fault. */
  get isExhausted(): boolean {
    return this.#steps < 0 || this.#left < 0
  }

  /** For the most that a search costs: a regex of `size` instructions on so many characters. */
  payForSearch(length: number, size: number): void {
    this.charge((((length + 1) * size) / REGEX_STEPS_PER_UNIT) | 0)
  }

  /** For a value, but not for what is in it. */
  chargeFor(value: unknown): void {
    if (typeof value === 'string') this.charge(unitsOf(value))
    else if (typeof value === 'object' && value !== null) this.charge(shallowUnitsOf(value))
  }

  /** For a value and all in it, as often as it is in it. */
  chargeForAll(value: unknown): void {
    if (typeof value !== 'object' || value === null) return this.chargeFor(value)
    this.charge(1 + shallowUnitsOf(value))
    if (Array.isArray(value)) for (const item of value) this.chargeForAll(item)
    else if (value instanceof Map) for (const item of value.values()) this.chargeForAll(item)
    else if (Object.getPrototypeOf(value) === Object.prototype)
      for (const item of Object.values(value)) this.chargeForAll(item)
  }
}

/** No function looks at a whole map but `merge`, which has a bound of its own. */
function shallowUnitsOf(value: object): number {
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? unitsOf(value) : 1
}

/** Whole ones: counting in fractions takes twice as long. */
function unitsOf({ length }: { readonly length: number }): number {
  return (length / TEXT_PER_UNIT) | 0
}

/** What an expression costs at least if nothing cuts it short: its nodes, those in loops over literals more often. */
export function estimateNodeCost(node: CelNode): number {
  const [first, ...rest] = childNodesOf(node)
  if (first === undefined) return 1
  const often =
    comprehensionOf(node) !== undefined && first.op === 'list'
      ? (first.args as readonly CelNode[]).length
      : 1
  return rest.reduce(
    (sum, child) => sum + often * estimateNodeCost(child),
    1 + estimateNodeCost(first),
  )
}

/** Makes a node of a checked tree pay. */
export function meterNode(node: CelNode, meter: WorkMeter): void {
  const loop = comprehensionOf(node)
  if (loop !== undefined) {
    const { condition } = loop
    const nodes = childNodesOf(node)
      .slice(1)
      .reduce((sum, child) => sum + countNodes(child), 1)
    loop.condition = (accumulated) => {
      meter.countElement(nodes)
      return condition === undefined || condition(accumulated)
    }
  } else if (node.op === '+') meterSum(node, meter)
  else if (COMPARISONS.has(node.op)) meterComparison(node, meter)
  else if (node.op === 'in') meterMembership(node, meter)
  else if (node.op === 'call' || node.op === 'rcall') meterCall(node, meter)
}

function countNodes(node: CelNode): number {
  return childNodesOf(node).reduce((sum, child) => sum + countNodes(child), 1)
}

function meterSum(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    const most = Array.isArray(left) ? MAX_CEL_LIST : MAX_CEL_TEXT
    if (celLengthOf(left) + celLengthOf(right) > most) throw new CelFault('too_large')
    meter.chargeFor(left)
    meter.chargeFor(right)
    return handle(left, right, one, other)
  }
}

function celLengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array
    ? value.length
    : 0
}

/** Never longer than one of the two. */
function meterComparison(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    meter.chargeForAll(left)
    return handle(left, right, one, other)
  }
}

function meterMembership(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, one, other) => {
    // A list is compared with each element, and a text with none that is a list.
    if (Array.isArray(right))
      if (typeof left === 'object') meter.chargeForAll(right)
      else meter.charge(right.length)
    return handle(left, right, one, other)
  }
}

function meterCall(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  const [name] = node.args as [string]
  const isDeep = DEEP.has(name)
  node.handle = (values, one, other) => {
    for (const value of values as readonly unknown[])
      if (isDeep) meter.chargeForAll(value)
      else meter.chargeFor(value)
    const result = handle(values, one, other)
    meter.chargeFor(result)
    return result
  }
}

// Every bound of an expression, by name: operators write expressions, but clients write what they read.

/** Characters of an expression. */
export const MAX_EXPRESSION_LENGTH = 4096

/** Nodes of its syntax tree, and how deep they nest; `a || b || c` nests once per operator. */
export const MAX_EXPRESSION_NODES = 2048
export const MAX_EXPRESSION_DEPTH = 256

/** Entries of one list or map literal, and arguments of one call. */
export const MAX_LITERAL_ENTRIES = 512
export const MAX_CALL_ARGUMENTS = 16

/** `all`, `exists`, `exists_one`, `map` and `filter` within each other, and altogether. */
export const MAX_NESTED_COMPREHENSIONS = 2
export const MAX_COMPREHENSIONS = 8

/** Elements all comprehensions of one evaluation may look at together. */
export const MAX_LOOP_ELEMENTS = 4096

/** Characters of any text an expression builds, and elements of any list. */
export const MAX_CEL_TEXT = 65_536
export const MAX_CEL_LIST = 65_536

/**
 * Units of work of one evaluation: a node of a loop's body is one, each time, as is an element of a list that is
 * built or searched, and so many characters or bytes that are built or read.
 */
export const MAX_EVALUATION_WORK = 262_144
export const TEXT_PER_UNIT = 32

/** Steps of a regex for one unit: each character of its text can meet each instruction of its pattern. */
const REGEX_STEPS_PER_UNIT = 64

/** The same for each who waits to see a request: every request is held against all of their expressions. */
export const MAX_WATCH_EVALUATION_WORK = 1024

/** Characters of a URI whose query is read or changed. */
export const MAX_URI_LENGTH = 8192

/** How deep claims and other JSON may nest. */
export const MAX_CEL_JSON_DEPTH = 64

/** Characters of a rate limit key: a rule keeps up to 65,536 of them (§8). */
export const MAX_LIMIT_KEY_LENGTH = 1024
