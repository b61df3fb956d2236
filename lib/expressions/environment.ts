// The library set up as this gateway uses it: its limits, our functions, and the names each place may read.

import { Environment } from '@marcbachmann/cel-js'
import type { CelMacro, CelNode, CheckedType, Evaluator, TypeChecker } from './cel-library.ts'
import { CEL_FIELDS, CEL_NAMES, EXPRESSION_LOCATIONS } from './context-names.ts'
import type { CelShape, ExpressionLocation } from './context-names.ts'
import {
  EnvView,
  FACT_VIEWS,
  ProxyView,
  RequestView,
  ResponseView,
  SourceView,
} from './exchange-view.ts'
import { celFaultCodeOf } from './expression-errors.ts'
import { registerFunctions } from './functions.ts'
import {
  MAX_CALL_ARGUMENTS,
  MAX_EXPRESSION_DEPTH,
  MAX_EXPRESSION_NODES,
  MAX_LITERAL_ENTRIES,
} from './meter.ts'

/** The largest number of operands of `coalesce`. */
const MAX_COALESCED = 8

const VIEWS: Readonly<Record<CelShape, new (...parts: never[]) => object>> = {
  ...FACT_VIEWS,
  Request: RequestView,
  Source: SourceView,
  Response: ResponseView,
  Proxy: ProxyView,
  Env: EnvView,
}

/** Functions and types, but no names. */
function createBaseEnvironment(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: MAX_EXPRESSION_NODES,
      maxDepth: MAX_EXPRESSION_DEPTH,
      maxListElements: MAX_LITERAL_ENTRIES,
      maxMapEntries: MAX_LITERAL_ENTRIES,
      maxCallArguments: MAX_CALL_ARGUMENTS,
    },
  })
  registerFunctions(environment)
  registerMacros(environment)
  for (const [shape, ctor] of Object.entries(VIEWS))
    environment.registerType(shape, { ctor, fields: CEL_FIELDS[shape as CelShape] })
  return environment
}

/**
 * The library names the type of a value by all its depth (`list<map<string, list<…>>>`) and keeps every such
 * name for ever: whoever writes the JSON an expression reads could fill the memory with them. The outermost
 * type is enough to pick an overload, and lists of mixed elements work as well then.
 */
function nameTypesShallowly(environment: Environment): void {
  environment
    .clone()
    .registerFunction('probe(): bool', function (this: Evaluator) {
      const evaluator = Object.getPrototypeOf(this) as Evaluator
      evaluator.debugTypeDeep = function (this: Evaluator, value) {
        return this.debugType(value)
      }
      return true
    })
    .evaluate('probe()')
}

const BARE = createBaseEnvironment()
nameTypesShallowly(BARE)

/** An environment that knows these names, by their CEL types. */
export function createEnvironment(names: Readonly<Record<string, string>>): Environment {
  const environment = BARE.clone()
  for (const [name, type] of Object.entries(names)) environment.registerVariable(name, type)
  return environment
}

export const CEL_ENVIRONMENTS = Object.fromEntries(
  Object.entries(EXPRESSION_LOCATIONS).map(([place, { names }]) => [
    place,
    createEnvironment(Object.fromEntries(names.map((name) => [name, CEL_NAMES[name]]))),
  ]),
) as Readonly<Record<ExpressionLocation, Environment>>

// `default` and `coalesce`: functions that must see an operand fail, and so are macros.

interface Expansion {
  readonly args: readonly CelNode[]
}

/** `default(a, b)`: b where a is missing; any other fault of a stays one. */
function expandDefault({ args }: Expansion): CelMacro {
  const [wish, otherwise] = args as [CelNode, CelNode]
  return {
    async: false,
    typeCheck: (checker, _macro, context) => commonType(checker, args, context),
    evaluate(evaluator, _macro, context) {
      try {
        return evaluator.run(wish, context)
      } catch (error) {
        const code = celFaultCodeOf(error)
        if (code !== 'no_such_key' && code !== 'index_out_of_bounds') throw error
        return evaluator.run(otherwise, context)
      }
    },
  }
}

/** `coalesce(a, b, …)`: the first that has a value other than null; null if that is all there is. */
function expandCoalesce({ args }: Expansion): CelMacro {
  return {
    async: false,
    typeCheck: (checker, _macro, context) => commonType(checker, args, context),
    evaluate: (evaluator, _macro, context) => firstValue(evaluator, args, context),
  }
}

function firstValue(evaluator: Evaluator, args: readonly CelNode[], context: unknown): unknown {
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

function commonType(checker: TypeChecker, args: readonly CelNode[], context: unknown): CheckedType {
  return args
    .map((node) => checker.check(node, context))
    .reduce((all, one) => all.unify(checker.registry, one) ?? checker.getType('dyn'))
}

function registerMacros(environment: Environment): void {
  environment.registerFunction('default(ast, ast): dyn', expandDefault)
  for (let count = 1; count <= MAX_COALESCED; count++) {
    const parameters = Array<string>(count).fill('ast').join(', ')
    environment.registerFunction(`coalesce(${parameters}): dyn`, expandCoalesce)
  }
}
