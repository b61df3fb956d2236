// Views of facts: one small class per shape whose getters turn a fact into a CEL value when it is read.

import type { Shape } from './fields.ts'
import { FIELDS, fieldsOf } from './fields.ts'
import { fromJson } from './json.ts'

type FactView = new (facts: object | undefined) => object

const FACT_SHAPES = [
  'BasicAuth',
  'Backend',
  'Mcp',
  'McpTool',
  'McpItem',
  'Llm',
  'ProxyGateway',
  'ProxyListener',
  'ProxyRoute',
] as const satisfies readonly Shape[]

type FactShape = (typeof FACT_SHAPES)[number]

function viewClass(shape: FactShape): FactView {
  class View {
    readonly #facts: object | undefined

    constructor(facts: object | undefined) {
      this.#facts = facts
    }

    static read(view: View, field: string): unknown {
      return view.#facts === undefined ? undefined : Reflect.get(view.#facts, field)
    }
  }
  for (const [field, type] of Object.entries(FIELDS[shape]))
    Object.defineProperty(View.prototype, field, {
      get(this: View) {
        return celValue(View.read(this, field), type)
      },
    })
  return View
}

/** Undefined stays undefined: the library calls it a missing key. */
function celValue(fact: unknown, type: string): unknown {
  if (fact === undefined) return undefined
  if (type === 'int') return typeof fact === 'number' ? BigInt(Math.trunc(fact)) : undefined
  if (type === 'dyn') return fromJson(fact)
  if (fieldsOf(type) === undefined) return fact
  return new FACT_VIEWS[type as FactShape](fact as object)
}

export const FACT_VIEWS = Object.fromEntries(
  FACT_SHAPES.map((shape) => [shape, viewClass(shape)]),
) as Readonly<Record<FactShape, FactView>>
