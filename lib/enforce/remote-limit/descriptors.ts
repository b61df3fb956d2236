// What a rate limit service is asked about one exchange: descriptors of the configuration with their expressions evaluated.

import { isUtf8 } from 'node:buffer'
import type { Expression } from '../../base/cel/compile.ts'
import { toJson } from '../../base/cel/json.ts'
import type { View } from '../../base/cel/view.ts'
import type { RemoteDescriptor } from '../../base/config/limit-types.ts'
import { isUnit } from './codec.ts'
import type { Descriptor, Entry, LimitOverride } from './codec.ts'

/** Longer values are cut, not left out: nobody gets past a limit by the length of a name. */
const MAX_VALUE_LENGTH = 4_096

const MAX_UINT32 = 2 ** 32 - 1

/** A descriptor but for what is added to it. */
export interface Counter {
  readonly entries: readonly Entry[]
  readonly limit: LimitOverride | null
  readonly cost: Expression | null
}

/** null when one of its expressions has no value: then it does not apply. */
export function counterOf(config: RemoteDescriptor, view: View): Counter | null {
  const entries: Entry[] = []
  for (const { key, value } of config.entries) {
    const text = value.textOf(view)
    if (text === null) return null
    entries.push({ key, value: plainText(text.slice(0, MAX_VALUE_LENGTH)) })
  }
  const { cost } = config
  if (config.limitOverride === null) return { entries, limit: null, cost }
  const limit = overrideOf(config.limitOverride, view)
  return limit === null ? null : { entries, limit, cost }
}

/** For one that counts requests; without a cost the service adds 1. */
export function requestDescriptorOf(config: RemoteDescriptor, view: View): Descriptor | null {
  const counter = counterOf(config, view)
  if (counter === null) return null
  const { entries, limit, cost } = counter
  if (cost === null) return { entries, limit, hits: null }
  const hits = costOf(cost, view)
  return hits === null ? null : { entries, limit, hits }
}

/** A whole number, at least 0; a part of one counts as one. null for all else. */
export function costOf(expression: Expression, view: View): number | null {
  const text = expression.textOf(view)
  const cost = text === null || text === '' ? NaN : Number(text)
  return cost >= 0 ? Math.min(Math.ceil(cost), MAX_UINT32) : null
}

/** What headers say comes as the bytes they were sent in, one character each. Where these are UTF-8 they are read so. */
function plainText(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  return bytes.toString('latin1') === text && isUtf8(bytes) ? bytes.toString() : text
}

/** `{"unit": "minute", "requestsPerUnit": 100}`. */
function overrideOf(expression: Expression, view: View): LimitOverride | null {
  const result = expression.evaluate(view)
  if ('fault' in result) return null
  const written: unknown = JSON.parse(toJson(result.value))
  if (typeof written !== 'object' || written === null) return null
  const {
    unit,
    requestsPerUnit,
    requests_per_unit: amount = requestsPerUnit,
  } = written as {
    unit?: unknown
    requestsPerUnit?: unknown
    requests_per_unit?: unknown
  }
  const word = typeof unit === 'string' ? unit.toLowerCase() : ''
  if (!isUnit(word) || typeof amount !== 'number' || !Number.isInteger(amount)) return null
  return amount >= 0 && amount <= MAX_UINT32 ? { amount, unit: word } : null
}
