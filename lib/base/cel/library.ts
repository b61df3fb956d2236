// The parts of @marcbachmann/cel-js beneath its declared types that this folder leans on: the nodes of its
// syntax tree and the evaluator it hands to macros. A spec holds each of them against the pinned version.

import type { ParseResult } from '@marcbachmann/cel-js'

/**
 * Runs once a node's operands are known. Operators give (left, right, node, evaluator), calls (values, node,
 * evaluator), methods the last two swapped.
 */
export type Handle = (first: unknown, ...rest: unknown[]) => unknown

export interface Comprehension {
  /** Asked before each element whether to go on; only quantifiers bring one. */
  condition?: ((accumulated: unknown) => boolean) | undefined
}

export interface Node {
  readonly op: string
  readonly args: unknown
  readonly pos: number
  readonly start: number
  readonly meta: { readonly alternate?: Node }
  handle?: Handle
}

/** A checked type. */
export interface TypeOf {
  unify(registry: unknown, other: TypeOf): TypeOf | null
}

export interface Checker {
  readonly registry: unknown
  check(node: Node, context: unknown): TypeOf
  getType(name: string): TypeOf
}

export interface Evaluator {
  run(node: Node, context: unknown): unknown
  debugType(value: unknown): unknown
  debugTypeDeep(value: unknown): unknown
}

export interface Macro {
  readonly async: false
  typeCheck(checker: Checker, macro: Macro, context: unknown): TypeOf
  evaluate(evaluator: Evaluator, macro: Macro, context: unknown): unknown
}

export function rootOf(parsed: ParseResult): Node {
  return parsed.ast as unknown as Node
}

/** The comprehension behind `list.all(x, …)` and its like, or undefined for any other node. */
export function comprehensionOf(node: Node): Comprehension | undefined {
  const { alternate } = node.meta
  return alternate?.op === 'comprehension' ? (alternate.args as Comprehension) : undefined
}

export function childrenOf({ op, args }: Node): readonly Node[] {
  switch (op) {
    case 'value':
    case 'id':
      return []
    case '.':
      return [(args as [Node])[0]]
    case '!_':
    case '-_':
      return [args as Node]
    case 'call':
      return (args as [string, Node[]])[1]
    case 'rcall': {
      const [, receiver, rest] = args as [string, Node, Node[]]
      return [receiver, ...rest]
    }
    case 'map':
      return (args as [Node, Node][]).flat()
    default:
      return args as Node[]
  }
}
