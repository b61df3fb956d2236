// The parts of @marcbachmann/cel-js below its declared types that this folder uses: the nodes of its syntax tree and the
// evaluator that it passes to macros. A spec checks each of them against the pinned version.

import type { ParseResult } from '@marcbachmann/cel-js'

/**
 * Runs when the operands of a node are known. Operators pass (left, right, node, evaluator), calls (values, node,
 * evaluator), methods the last two swapped.
 */
export type NodeHandle = (first: unknown, ...rest: unknown[]) => unknown

export interface Comprehension {
  /** Called before each element to decide whether to continue; only quantifiers have one. */
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

/** The comprehension of `list.all(x, …)` and similar macros, or undefined for any other node. */
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
