// The shapes told as JSON Schema, for editors (`# yaml-language-server: $schema=`) and other tools.

import { z } from 'zod'
import { CONFIG_DOCUMENT, POLICY_RESOURCE } from './shape/document-shapes.ts'

export interface JsonSchema {
  [key: string]: unknown
  $defs?: Record<string, JsonSchema>
  $ref?: string
  type?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  additionalProperties?: JsonSchema | boolean
  anyOf?: JsonSchema[]
}

/** Both kinds of document, each under its own name. */
export function buildSchemaDefinitions(): Record<string, JsonSchema> {
  const found: Record<string, JsonSchema> = {}
  for (const [name, shape] of Object.entries({
    Config: CONFIG_DOCUMENT,
    GatewayPolicy: POLICY_RESOURCE,
  })) {
    const { $schema: _uri, id: _id, $defs = {}, ...root } = toJsonSchema(shape)
    // A shape with an id is among the definitions already.
    Object.assign(found, $defs, root.$ref === undefined ? { [name]: root } : {})
  }
  return Object.fromEntries(
    Object.entries(found)
      .map(([name, one]): [string, JsonSchema] => [name, tidySchema(one)])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function toJsonSchema(shape: z.ZodType): JsonSchema {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as JsonSchema
}

/** What `gateway --print-schema` prints; a document with a kind is a policy resource. */
export function buildConfigSchema(): JsonSchema {
  const defs = Object.entries(buildSchemaDefinitions()).map(([name, one]) => [
    name,
    allowVariables(one),
  ])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of the gateway',
    allOf: [
      { if: RESOURCE_LIKE, else: { $ref: '#/$defs/Config' } },
      { if: { not: RESOURCE_LIKE }, else: { $ref: '#/$defs/GatewayPolicy' } },
    ],
    $defs: { ...Object.fromEntries(defs), Variable: VARIABLE },
  }
}

export function formatConfigSchema(): string {
  return `${JSON.stringify(buildConfigSchema(), null, 2)}\n`
}

const RESOURCE_LIKE: JsonSchema = {
  type: 'object',
  anyOf: [{ required: ['kind'] }, { required: ['apiVersion'] }],
}

const VARIABLE: JsonSchema = {
  description: 'A value from the environment: ${NAME} or ${NAME:-default}',
  type: 'string',
  pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}',
}

/**
 * Names that are known only to be refused are no use to editors; ids are names of definitions. A `preset` is a default
 * that is filled in behind the shape: zod leaves out a `default` in front of a transform.
 */
function tidySchema(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, ({ id: _id, preset, ...rest }) => {
    const one: JsonSchema = preset === undefined ? rest : { ...rest, default: preset }
    if (one.properties === undefined) return one
    const kept = Object.entries(one.properties).filter(([, field]) => !('not' in field))
    return { ...one, properties: Object.fromEntries(kept) }
  })
}

const DECORATION = ['description', 'default', 'title']

/** Where not just any text will do, a variable may stand all the same. */
function allowVariables(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (one) => {
    const isOpen =
      one.type === 'string' && one['pattern'] === undefined && one['enum'] === undefined
    const isScalar = /^(?:string|integer|number|boolean)$/.test(one.type ?? '')
    if (!isScalar || isOpen) return one
    const fields = Object.entries(one)
    const decoration = fields.filter(([name]) => DECORATION.includes(name))
    const rest = fields.filter(([name]) => !DECORATION.includes(name))
    return {
      ...Object.fromEntries(decoration),
      anyOf: [Object.fromEntries(rest), { $ref: '#/$defs/Variable' }],
    }
  })
}

/** Every schema inside, then the schema itself; names of properties stay as they are. */
function mapSchema(schema: JsonSchema, change: (schema: JsonSchema) => JsonSchema): JsonSchema {
  const inside = (one: JsonSchema): JsonSchema => mapSchema(one, change)
  const { properties, items, additionalProperties, anyOf } = schema
  const changed: JsonSchema = { ...schema }
  if (properties !== undefined)
    changed.properties = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, inside(one)]),
    )
  if (items !== undefined) changed.items = inside(items)
  if (typeof additionalProperties === 'object')
    changed.additionalProperties = inside(additionalProperties)
  if (anyOf !== undefined) changed.anyOf = anyOf.map(inside)
  return change(changed)
}
