// Tables of fields for the docs, made from the schema: between markers, so that the prose around stays as it is.

import { DURATION_PATTERN } from '../lib/config/duration.ts'
import type { JsonSchema } from '../lib/config/json-schema.ts'

type Definitions = Readonly<Record<string, JsonSchema>>

const MARKED = /(<!-- fields of (\S+) -->\n)[^]*?(<!-- end of fields -->)/g

/** The text with every table between its markers made anew. */
export function withTables(text: string, definitions: Definitions): string {
  return text.replace(MARKED, (_, open: string, place: string, close: string) => {
    const schema = schemaAt(place, definitions)
    return `${open}| field | type | default | meaning |\n|---|---|---|---|\n${rowsOf(schema, '', definitions).join('')}${close}`
  })
}

/** `routes[]`, `gateways.*`, or the name of a definition first: `RoutePolicies`; of several forms one by its number: `JwtAuth.0`. */
function schemaAt(place: string, definitions: Definitions): JsonSchema {
  const [first = '', ...rest] = place.replaceAll('[]', '.[]').split('.')
  const isDefinition = definitions[first] !== undefined
  const parts = isDefinition ? rest : [first, ...rest]
  let schema = isDefinition ? definitions[first] : definitions['Config']
  for (const part of parts) {
    const next = part === '[]' ? schema?.items : stepInto(schema, part)
    if (typeof next !== 'object') throw new Error(`no ${part} of ${place} in the schema`)
    schema = next
  }
  return schema!
}

function stepInto(schema: JsonSchema | undefined, part: string): JsonSchema | boolean | undefined {
  if (part === '*') return schema?.additionalProperties
  return /^\d+$/.test(part) ? schema?.anyOf?.[Number(part)] : schema?.properties?.[part]
}

/** One row for each field, those of objects inside with the path to them. */
function rowsOf(
  { properties = {}, required = [] }: JsonSchema,
  path: string,
  definitions: Definitions,
): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const full = path + name
    const { $ref = '', items } = field
    const about = definitions[$ref.replace('#/$defs/', '')]?.['description']
    const described = { ...(about !== undefined && { description: about }), ...field }
    const row = rowOf(full, described, required.includes(name))
    if (hasRows(field)) {
      const inside = rowsOf(field, `${full}.`, definitions)
      return described['description'] === undefined ? inside : [row, ...inside]
    }
    if (items === undefined || !hasRows(items)) return [row]
    return [row, ...rowsOf(items, `${full}[].`, definitions)]
  })
}

/** Whether its fields get rows of their own; a choice is told by its description. */
function hasRows(schema: JsonSchema): boolean {
  return schema.properties !== undefined && schema['maxProperties'] === undefined
}

function rowOf(name: string, field: JsonSchema, isRequired: boolean): string {
  const preset = field['default']
  const shown = isEmpty(preset) ? '' : `\`${typeof preset === 'string' ? preset : json(preset)}\``
  const about = typeof field['description'] === 'string' ? field['description'] : ''
  return `| \`${name}\` | ${typeOf(field)} | ${isRequired ? 'required' : shown} | ${about} |\n`
}

function isEmpty(preset: unknown): boolean {
  return preset === undefined || ['""', '[]', '{}', 'false'].includes(JSON.stringify(preset))
}

function json(value: unknown): string {
  return JSON.stringify(value).replaceAll('"', '').replaceAll(',', ', ')
}

function typeOf(field: JsonSchema): string {
  const { $ref, type, items, anyOf, additionalProperties: values } = field
  if ($ref !== undefined) return $ref.replace('#/$defs/', '')
  if (field['const'] !== undefined) return `\`${json(field['const'])}\``
  if (Array.isArray(field['enum'])) return field['enum'].map((word) => `\`${word}\``).join(', ')
  if (field['pattern'] === DURATION_PATTERN.source) return 'duration'
  if (field['format'] === 'cel') return 'CEL'
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (items !== undefined) return `list of ${typeOf(items)}`
  if (typeof values === 'object' && field.properties === undefined)
    return `map of ${typeOf(values)}`
  return type ?? 'anything'
}
