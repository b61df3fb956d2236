// The library set up as this gateway uses it: its limits, our functions, and the names each place may read.

import { Environment } from '@marcbachmann/cel-js'
import { MAX_ARGUMENTS, MAX_DEPTH, MAX_LITERAL, MAX_NODES } from './bounds.ts'
import { FACT_VIEWS } from './fact-view.ts'
import type { Shape } from './fields.ts'
import { FIELDS, NAMES } from './fields.ts'
import { registerFunctions } from './functions.ts'
import type { Evaluator } from './library.ts'
import { registerMacros } from './macros.ts'
import type { Place } from './places.ts'
import { PLACES } from './places.ts'
import { EnvView, ProxyView, RequestView, ResponseView, SourceView } from './view.ts'

const VIEWS: Readonly<Record<Shape, new (...parts: never[]) => object>> = {
  ...FACT_VIEWS,
  Request: RequestView,
  Source: SourceView,
  Response: ResponseView,
  Proxy: ProxyView,
  Env: EnvView,
}

/** Functions and types, but no names. */
function bare(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: MAX_NODES,
      maxDepth: MAX_DEPTH,
      maxListElements: MAX_LITERAL,
      maxMapEntries: MAX_LITERAL,
      maxCallArguments: MAX_ARGUMENTS,
    },
  })
  registerFunctions(environment)
  registerMacros(environment)
  for (const [shape, ctor] of Object.entries(VIEWS))
    environment.registerType(shape, { ctor, fields: FIELDS[shape as Shape] })
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

const BARE = bare()
nameTypesShallowly(BARE)

/** An environment that knows these names, by their CEL types. */
export function environmentOf(names: Readonly<Record<string, string>>): Environment {
  const environment = BARE.clone()
  for (const [name, type] of Object.entries(names)) environment.registerVariable(name, type)
  return environment
}

export const ENVIRONMENTS = Object.fromEntries(
  Object.entries(PLACES).map(([place, { names }]) => [
    place,
    environmentOf(Object.fromEntries(names.map((name) => [name, NAMES[name]]))),
  ]),
) as Readonly<Record<Place, Environment>>
