// Converts the shapes to JSON Schema, for editors (`# yaml-language-server: $schema=`) and other tools.

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

/** The definitions of both document kinds and of all shapes with an id. */
export function buildSchemaDefinitions(): Record<string, JsonSchema> {
  const definitions: Record<string, JsonSchema> = {}
  for (const [name, shape] of Object.entries({
    Config: CONFIG_DOCUMENT,
    GatewayPolicy: POLICY_RESOURCE,
  })) {
    const { $schema: _uri, id: _id, $defs = {}, ...root } = toJsonSchema(shape)
    // A shape with an id is already in $defs.
    Object.assign(definitions, $defs, root.$ref === undefined ? { [name]: root } : {})
  }
  return Object.fromEntries(
    Object.entries(definitions)
      .map(([name, one]): [string, JsonSchema] => [name, tidySchema(one)])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function toJsonSchema(shape: z.ZodType): JsonSchema {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as JsonSchema
}

/** The schema that `gateway --print-schema` prints; a document with a kind is a policy resource. */
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
 * Removes ids and fields that are always refused. `preset` becomes `default`: it is a default that is set after the
 * shape is parsed, because zod omits a `default` before a transform.
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

/** Lets every list, and every scalar that does not accept any text, also be a variable reference. */
function allowVariables(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (one) => {
    const isOpen =
      one.type === 'string' && one['pattern'] === undefined && one['enum'] === undefined
    const isReplaceable = /^(?:string|integer|number|boolean|array)$/.test(one.type ?? '')
    if (!isReplaceable || isOpen) return one
    const fields = Object.entries(one)
    const decoration = fields.filter(([name]) => DECORATION.includes(name))
    const rest = fields.filter(([name]) => !DECORATION.includes(name))
    return {
      ...Object.fromEntries(decoration),
      anyOf: [Object.fromEntries(rest), { $ref: '#/$defs/Variable' }],
    }
  })
}

/** Applies `change` to every nested schema, then to the schema itself. */
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
