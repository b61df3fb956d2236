// `default` and `coalesce`: functions that must see an operand fail, and so are macros.

import type { Environment } from '@marcbachmann/cel-js'
import { faultOf } from './errors.ts'
import type { Checker, Evaluator, Macro, Node, TypeOf } from './library.ts'

const MOST_COALESCED = 8

interface Expansion {
  readonly args: readonly Node[]
}

/** `default(a, b)`: b where a is missing; any other fault of a stays one. */
function defaultOf({ args }: Expansion): Macro {
  const [wish, otherwise] = args as [Node, Node]
  return {
    async: false,
    typeCheck: (checker, _macro, context) => commonType(checker, args, context),
    evaluate(evaluator, _macro, context) {
      try {
        return evaluator.run(wish, context)
      } catch (error) {
        const code = faultOf(error)
        if (code !== 'no_such_key' && code !== 'index_out_of_bounds') throw error
        return evaluator.run(otherwise, context)
      }
    },
  }
}

/** `coalesce(a, b, …)`: the first that has a value other than null; null if that is all there is. */
function coalesceOf({ args }: Expansion): Macro {
  return {
    async: false,
    typeCheck: (checker, _macro, context) => commonType(checker, args, context),
    evaluate: (evaluator, _macro, context) => firstValue(evaluator, args, context),
  }
}

function firstValue(evaluator: Evaluator, args: readonly Node[], context: unknown): unknown {
  let failure: unknown
  let isNull = false
  for (const node of args)
    try {
      const value = evaluator.run(node, context)
      if (value !== null) return value
      isNull = true
    } catch (error) {
      failure = error
    }
  if (isNull) return null
  throw failure
}

function commonType(checker: Checker, args: readonly Node[], context: unknown): TypeOf {
  return args
    .map((node) => checker.check(node, context))
    .reduce((all, one) => all.unify(checker.registry, one) ?? checker.getType('dyn'))
}

export function registerMacros(environment: Environment): void {
  environment.registerFunction('default(ast, ast): dyn', defaultOf)
  for (let count = 1; count <= MOST_COALESCED; count++) {
    const parameters = Array<string>(count).fill('ast').join(', ')
    environment.registerFunction(`coalesce(${parameters}): dyn`, coalesceOf)
  }
}
