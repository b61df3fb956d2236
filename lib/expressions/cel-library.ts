// The parts of @marcbachmann/cel-js beneath its declared types that this folder leans on: the nodes of its
// syntax tree and the evaluator it hands to macros. A spec holds each of them against the pinned version.

import type { ParseResult } from '@marcbachmann/cel-js'

/**
 * Runs once a node's operands are known. Operators give (left, right, node, evaluator), calls (values, node,
 * evaluator), methods the last two swapped.
 */
export type NodeHandle = (first: unknown, ...rest: unknown[]) => unknown

export interface Comprehension {
  /** Asked before each element whether to go on; only quantifiers bring one. */
  condition?: ((accumulated: unknown) => boolean) | undefined
}

export interface CelNode {
  readonly op: string
  readonly args: unknown
  readonly pos: number
  readonly start: number
  readonly meta: { readonly alternate?: CelNode }
  handle?: NodeHandle
}

/** A checked type. */
export interface CheckedType {
  unify(registry: unknown, other: CheckedType): CheckedType | null
}

export interface TypeChecker {
  readonly registry: unknown
  check(node: CelNode, context: unknown): CheckedType
  getType(name: string): CheckedType
}

export interface Evaluator {
  run(node: CelNode, context: unknown): unknown
  debugType(value: unknown): unknown
  debugTypeDeep(value: unknown): unknown
}

export interface CelMacro {
  readonly async: false
  typeCheck(checker: TypeChecker, macro: CelMacro, context: unknown): CheckedType
  evaluate(evaluator: Evaluator, macro: CelMacro, context: unknown): unknown
}

export function rootNodeOf(parsed: ParseResult): CelNode {
  return parsed.ast as unknown as CelNode
}

/** The comprehension behind `list.all(x, …)` and its like, or undefined for any other node. */
export function comprehensionOf(node: CelNode): Comprehension | undefined {
  const { alternate } = node.meta
  return alternate?.op === 'comprehension' ? (alternate.args as Comprehension) : undefined
}

export function childNodesOf({ op, args }: CelNode): readonly CelNode[] {
  switch (op) {
    case 'value':
    case 'id':
      return []
    case '.':
      return [(args as [CelNode])[0]]
    case '!_':
    case '-_':
      return [args as CelNode]
    case 'call':
      return (args as [string, CelNode[]])[1]
    case 'rcall': {
      const [, receiver, rest] = args as [string, CelNode, CelNode[]]
      return [receiver, ...rest]
    }
    case 'map':
      return (args as [CelNode, CelNode][]).flat()
    default:
      return args as CelNode[]
  }
}
