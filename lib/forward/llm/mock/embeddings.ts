// POST /v1/embeddings: small vectors that depend on nothing but the text.

import { createHash } from 'node:crypto'
import { inputTokens, wholeSaid } from './answer.ts'
import { drillFault, tellsUsage } from './drills.ts'
import { invalid, listOf, missing, mostOf, nameOf } from './fields.ts'
import type { Endpoint, Json } from './types.ts'

const DIMENSIONS = 8
/** In all vectors of one answer. */
const MOST_NUMBERS = 65_536
/** Halves as often as this are exact as a float and short as text. */
const SCALE = 2 ** 16

/** A text, or tokens that somebody made of one. */
type Input = string | readonly number[]

export const EMBEDDINGS: Endpoint = {
  method: 'POST',
  style: 'openai',

  answer({ body }) {
    const model = nameOf(body['model'])
    const inputs = inputsOf(body['input'])
    const dimensions = mostOf(body['dimensions'] ?? DIMENSIONS)
    if (model === '') return missing('model')
    if (body['input'] === undefined) return missing('input')
    if (inputs === null) return invalid('input')
    if (dimensions === null || dimensions * inputs.length > MOST_NUMBERS)
      return invalid('dimensions')
    const isBase64 = body['encoding_format'] === 'base64'
    const data = inputs.map((input, index) => {
      const vector = vectorOf(input, dimensions)
      const embedding = isBase64 ? Buffer.from(vector.buffer).toString('base64') : [...vector]
      return { object: 'embedding', index, embedding }
    })
    const answer = { object: 'list', data, model, ...usageOf(model, inputs) }
    return drillFault(model) ?? wholeSaid(answer, model)
  },
}

/** One, or a list of them; null for anything else. */
function inputsOf(value: unknown): Input[] | null {
  if (typeof value === 'string') return [value]
  const items = listOf(value)
  if (isTokens(items)) return [items]
  const inputs: Input[] = []
  for (const item of items)
    if (typeof item === 'string') inputs.push(item)
    else if (Array.isArray(item) && isTokens(item)) inputs.push(item)
    else return null
  return inputs.length === 0 ? null : inputs
}

function isTokens(items: readonly unknown[]): items is number[] {
  return items.length > 0 && items.every((item) => Number.isInteger(item))
}

function usageOf(model: string, inputs: readonly Input[]): Json {
  if (!tellsUsage(model)) return {}
  const texts = inputs.filter((input) => typeof input === 'string')
  const written = inputs.reduce((sum, input) => sum + (Array.isArray(input) ? input.length : 0), 0)
  const total = written + (texts.length === 0 ? 0 : inputTokens(texts))
  return { usage: { prompt_tokens: total, total_tokens: total } }
}

/** Little-endian floats are what clients read from base64, and what every machine we run on has. */
function vectorOf(input: Input, dimensions: number): Float32Array {
  let state = createHash('sha256').update(input.toString()).digest().readUInt32LE() || 1
  return Float32Array.from({ length: dimensions }, () => {
    // Marsaglia's xorshift: numbers without a pattern, always the same ones.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >> 15) / SCALE
  })
}
