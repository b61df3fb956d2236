// The cost of an evaluation. Every operation on something large charges for it before or while it runs, so that neither
// an expression nor what a client sends into it can grow without bound.

import { childNodesOf, comprehensionOf } from './cel-library.ts'
import type { CelNode } from './cel-library.ts'
import { CelFault } from './expression-errors.ts'

// Every limit of an expression: operators write the expressions, but clients write what expressions read.

/** Characters of an expression. */
export const MAX_EXPRESSION_LENGTH = 4096

/** Nodes of its syntax tree, and their depth; `a || b || c` nests once per operator. */
export const MAX_EXPRESSION_NODES = 2048
export const MAX_EXPRESSION_DEPTH = 256

/** Entries of one list or map literal, and arguments of one call. */
export const MAX_LITERAL_ENTRIES = 512
export const MAX_CALL_ARGUMENTS = 16

/** Nested `all`, `exists`, `exists_one`, `map` and `filter`, and their total number. */
export const MAX_NESTED_COMPREHENSIONS = 2
export const MAX_COMPREHENSIONS = 8

/** Elements that all comprehensions of one evaluation may visit together. */
export const MAX_LOOP_ELEMENTS = 4096

/** Characters of any text that an expression builds, and elements of any list. */
export const MAX_CEL_TEXT = 65_536
export const MAX_CEL_LIST = 65_536

/**
 * Work units of one evaluation: each visit of a node in a loop, each element of a list that is built or searched, and
 * every TEXT_PER_UNIT characters or bytes that are built or read cost one.
 */
export const MAX_EVALUATION_WORK = 262_144
export const TEXT_PER_UNIT = 32

/** Regex steps per unit: each character of the text can meet each instruction of the pattern. */
const REGEX_STEPS_PER_UNIT = 64

/** The same for the filter of a trace watcher: every request is checked with the filters of all watchers. */
export const MAX_WATCH_EVALUATION_WORK = 1024

/** Characters of a URI whose query is read or changed. */
export const MAX_URI_LENGTH = 8192

/** The depth of claims and other JSON. */
export const MAX_CEL_JSON_DEPTH = 64

/** Characters of a rate limit key: a rule keeps up to 65,536 of them (§8). */
export const MAX_LIMIT_KEY_LENGTH = 1024

/** Operators that read both sides completely. */
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])

/** Functions that read everything in a list or a map. */
const DEEP = new Set(['contains', 'toJson', 'to_json'])

/** Counts the elements that the comprehensions of one evaluation visit, and all work that grows with a size. */
export class WorkMeter {
  readonly #maxWork: number
  #elementsLeft = 0
  #workLeft = 0

  constructor(maxWork: number) {
    this.#maxWork = maxWork
  }

  reset(): void {
    this.#elementsLeft = MAX_LOOP_ELEMENTS
    this.#workLeft = this.#maxWork
  }

  /** Counts one more element of a loop with `nodes` nodes in its body. */
  countElement(nodes: number): void {
    if (--this.#elementsLeft < 0) throw new CelFault('too_many_steps')
    this.charge(nodes)
  }

  charge(units: number): void {
    if ((this.#workLeft -= units) < 0) throw new CelFault('too_many_steps')
  }

  /** True after an overrun, even if an operator or a quantifier caught the fault. */
  get isExhausted(): boolean {
    return this.#elementsLeft < 0 || this.#workLeft < 0
  }

  /** Charges for the worst case of a search: a regex of `size` instructions on `length` characters. */
  payForSearch(length: number, size: number): void {
    this.charge((((length + 1) * size) / REGEX_STEPS_PER_UNIT) | 0)
  }

  /** Charges for a value, but not for its contents. */
  chargeFor(value: unknown): void {
    if (typeof value === 'string') this.charge(unitsOf(value))
    else if (typeof value === 'object' && value !== null) this.charge(shallowUnitsOf(value))
  }

  /** Charges for a value and everything in it, as often as it occurs. */
  chargeForAll(value: unknown): void {
    if (typeof value !== 'object' || value === null) return this.chargeFor(value)
    this.charge(1 + shallowUnitsOf(value))
    if (Array.isArray(value)) for (const item of value) this.chargeForAll(item)
    else if (value instanceof Map) for (const item of value.values()) this.chargeForAll(item)
    else if (Object.getPrototypeOf(value) === Object.prototype)
      for (const item of Object.values(value)) this.chargeForAll(item)
  }
}

/** No function reads a whole map except `merge`, which has its own bound. */
function shallowUnitsOf(value: object): number {
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? unitsOf(value) : 1
}

/** Whole units: counting fractions takes twice as long. */
function unitsOf({ length }: { readonly length: number }): number {
  return (length / TEXT_PER_UNIT) | 0
}

/** The minimum cost of an expression without short circuits: its nodes, those in loops over literals multiplied. */
export function estimateNodeCost(node: CelNode): number {
  const [first, ...rest] = childNodesOf(node)
  if (first === undefined) return 1
  const repetitions =
    comprehensionOf(node) !== undefined && first.op === 'list'
      ? (first.args as readonly CelNode[]).length
      : 1
  return rest.reduce(
    (sum, child) => sum + repetitions * estimateNodeCost(child),
    1 + estimateNodeCost(first),
  )
}

/** Makes a node of a checked tree charge the meter. */
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
  node.handle = (left, right, self, evaluator) => {
    const maxLength = Array.isArray(left) ? MAX_CEL_LIST : MAX_CEL_TEXT
    if (celLengthOf(left) + celLengthOf(right) > maxLength) throw new CelFault('too_large')
    meter.chargeFor(left)
    meter.chargeFor(right)
    return handle(left, right, self, evaluator)
  }
}

function celLengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array
    ? value.length
    : 0
}

/** Charges for the left side: a comparison never takes longer than one of the two. */
function meterComparison(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, self, evaluator) => {
    meter.chargeForAll(left)
    return handle(left, right, self, evaluator)
  }
}

function meterMembership(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  node.handle = (left, right, self, evaluator) => {
    // A list or map is compared with each element; a string is not compared with lists.
    if (Array.isArray(right))
      if (typeof left === 'object') meter.chargeForAll(right)
      else meter.charge(right.length)
    return handle(left, right, self, evaluator)
  }
}

function meterCall(node: CelNode, meter: WorkMeter): void {
  const { handle } = node
  if (handle === undefined) return
  const [name] = node.args as [string]
  const isDeep = DEEP.has(name)
  node.handle = (values, second, third) => {
    for (const value of values as readonly unknown[])
      if (isDeep) meter.chargeForAll(value)
      else meter.chargeFor(value)
    const result = handle(values, second, third)
    meter.chargeFor(result)
    return result
  }
}
