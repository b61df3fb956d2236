// Runs the simple tests of CEL, in the proto JSON of @bufbuild/cel-spec, with our engine.

import { tests } from '@bufbuild/cel-spec/testdata/conformance.js'
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { compileWithNames } from '../../lib/expressions/compile.ts'

interface Value {
  nullValue?: null
  boolValue?: boolean
  int64Value?: string
  uint64Value?: string
  doubleValue?: number | string
  stringValue?: string
  bytesValue?: string
  typeValue?: string
  listValue?: { values?: Value[] }
  mapValue?: { entries?: { key: Value; value: Value }[] }
}

interface SimpleTest {
  name?: string
  expr: string
  value?: Value
  typedResult?: { result?: Value }
  evalError?: unknown
  anyEvalErrors?: unknown
  typeEnv?: { name: string; ident?: { type?: { primitive?: string } } }[]
  bindings?: Record<string, { value?: Value }>
}

/** The language itself: no extensions, and nothing that needs protobuf messages. */
const CORE = [
  'basic',
  'comparisons',
  'conversions',
  'fields',
  'fp_math',
  'integer_math',
  'lists',
  'logic',
  'macros',
  'namespace',
  'parse',
  'plumbing',
  'string',
  'timestamps',
  'type_deductions',
]

const PROTOBUF =
  /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|objectValue|enumValue|messageType/

export interface Outcome {
  readonly name: string
  readonly passed: boolean
}

export function runCore(): Outcome[] {
  const outcomes: Outcome[] = []
  for (const section of tests.suites ?? [])
    for (const group of CORE.includes(section.name) ? (section.suites ?? []) : [])
      for (const { original } of group.tests ?? []) {
        const test = original as unknown as SimpleTest
        if (PROTOBUF.test(JSON.stringify(test))) continue
        const name = `${section.name}/${group.name}/${test.name ?? test.expr}`
        outcomes.push({ name, passed: passes(test) })
      }
  return outcomes
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  BOOL: 'bool',
  INT64: 'int',
  UINT64: 'uint',
  DOUBLE: 'double',
  STRING: 'string',
  BYTES: 'bytes',
}

function passes(test: SimpleTest): boolean {
  const wantsError = test.evalError !== undefined || test.anyEvalErrors !== undefined
  const bindings = new Map<string, unknown>()
  const names: Record<string, string> = {}
  for (const { name, ident } of test.typeEnv ?? [])
    names[name] = PRIMITIVES[ident?.type?.primitive ?? ''] ?? 'dyn'
  for (const [name, { value }] of Object.entries(test.bindings ?? {})) {
    names[name] ??= 'dyn'
    bindings.set(name, celValue(value ?? {}))
  }
  try {
    const result = compileWithNames(test.expr, names).evaluate(bindings)
    if ('fault' in result) return wantsError
    const expected = test.value ?? test.typedResult?.result ?? { boolValue: true }
    return !wantsError && textOf(result.value) === textOf(celValue(expected))
  } catch {
    return wantsError
  }
}

class TypeName {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function celValue(value: Value): unknown {
  if (value.boolValue !== undefined) return value.boolValue
  if (value.int64Value !== undefined) return BigInt(value.int64Value)
  if (value.uint64Value !== undefined) return new UnsignedInt(BigInt(value.uint64Value))
  if (value.doubleValue !== undefined) return Number(value.doubleValue)
  if (value.stringValue !== undefined) return value.stringValue
  if (value.bytesValue !== undefined) return Buffer.from(value.bytesValue, 'base64')
  if (value.typeValue !== undefined) return new TypeName(value.typeValue)
  if (value.listValue !== undefined) return (value.listValue.values ?? []).map(celValue)
  if (value.mapValue === undefined) return null
  const entries = value.mapValue.entries ?? []
  return new Map(entries.map(({ key, value: item }) => [celValue(key), celValue(item)]))
}

/** A text that differs if two CEL values differ, types included. */
function textOf(value: unknown): string {
  if (value instanceof UnsignedInt) return `uint ${String(value)}`
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return `time ${value.toISOString()}`
  if (value instanceof Duration) return `span ${value.toString()}`
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (value === null || typeof value !== 'object') return `${typeof value} ${String(value)}`
  if (value instanceof Map || Object.getPrototypeOf(value) === Object.prototype) {
    const entries = value instanceof Map ? [...value] : Object.entries(value)
    return `{${entries
      .map(([key, item]) => `${textOf(key)}:${textOf(item)}`)
      .sort()
      .join()}}`
  }
  return `type ${(value as TypeName).name}`
}
