// The CEL library as this gateway configures it: its limits, our functions, and the variables of each location.

import { Environment } from '@marcbachmann/cel-js'
import type { CelMacro, CelNode, CheckedType, Evaluator, TypeChecker } from './cel-library.ts'
import { CEL_FIELDS, CEL_VARIABLES, EXPRESSION_LOCATIONS } from './context-names.ts'
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

// `default` and `coalesce` must see the fault of an operand, and are macros therefore.

const MAX_COALESCED = 8

interface MacroCall {
  readonly args: readonly CelNode[]
}

/** `default(a, b)`: b if a is missing; any other fault of a remains one. */
function expandDefault({ args }: MacroCall): CelMacro {
  const [preferred, fallback] = args as [CelNode, CelNode]
  return {
    async: false,
    typeCheck: (checker, _macro, context) => commonType(checker, args, context),
    evaluate(evaluator, _macro, context) {
      try {
        return evaluator.run(preferred, context)
      } catch (error) {
        const code = celFaultCodeOf(error)
        if (code !== 'no_such_key' && code !== 'index_out_of_bounds') throw error
        return evaluator.run(fallback, context)
      }
    },
  }
}

/** `coalesce(a, b, …)`: the first value other than null; null if all others fail. */
function expandCoalesce({ args }: MacroCall): CelMacro {
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

const VIEWS: Readonly<Record<CelShape, new (...parts: never[]) => object>> = {
  ...FACT_VIEWS,
  Request: RequestView,
  Source: SourceView,
  Response: ResponseView,
  Proxy: ProxyView,
  Env: EnvView,
}

/** An environment with functions and types, but no variables. */
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
 * The library names the type of a value with all its depth (`list<map<string, list<…>>>`) and keeps every such name:
 * JSON of a client could fill the memory with them. The outermost type is enough to select an overload.
 */
function useShallowTypeNames(environment: Environment): void {
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

const BASE_ENVIRONMENT = createBaseEnvironment()
useShallowTypeNames(BASE_ENVIRONMENT)

/** An environment with these variables, given with their CEL types. */
export function createEnvironment(variables: Readonly<Record<string, string>>): Environment {
  const environment = BASE_ENVIRONMENT.clone()
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type)
  return environment
}

export const CEL_ENVIRONMENTS = Object.fromEntries(
  Object.entries(EXPRESSION_LOCATIONS).map(([location, { variables, valueless = [] }]) => [
    location,
    createEnvironment(
      Object.fromEntries([...variables, ...valueless].map((name) => [name, CEL_VARIABLES[name]])),
    ),
  ]),
) as Readonly<Record<ExpressionLocation, Environment>>
