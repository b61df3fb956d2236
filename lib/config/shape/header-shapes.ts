// Shapes of header modifiers; headers that only the gateway may set are refused.

import { z } from 'zod'
import { headerValue, isHeaderName, refuseValue } from './value-shapes.ts'
import type { HeaderField } from '../../expressions/computed-headers.ts'

/** Hop-by-hop and framing headers, which the gateway sets. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export type HeaderSide = 'request' | 'response'

function describeHeaderNameProblem(name: string, side: HeaderSide): string | undefined {
  if (!isHeaderName(name)) return `got '${name}', expected a valid header name`
  const lower = name.toLowerCase()
  if (side === 'request' && lower === 'host')
    return `cannot change '${name}' here, use urlRewrite.authority`
  return RESERVED.has(lower) ? `cannot change '${name}', the gateway sets it itself` : undefined
}

/** The name of a header that may be changed; its case is kept. */
export function changeableHeaderName(side: HeaderSide) {
  return z.string().superRefine((name, context) => {
    const problem = describeHeaderNameProblem(name, side)
    if (problem !== undefined) refuseValue(context, problem)
  })
}

/** Header fields with names in lower case. */
export function headerFieldsFor(side: HeaderSide) {
  return z
    .record(changeableHeaderName(side), headerValue)
    .transform((fields) =>
      Object.entries(fields).map(([name, value]): HeaderField => [name.toLowerCase(), value]),
    )
}

const ID = { request: 'RequestHeaders', response: 'ResponseHeaders' }

function headerModifier(side: HeaderSide) {
  return (
    z
      .strictObject({
        add: headerFieldsFor(side).default([]).describe('Headers to add, by name.'),
        set: headerFieldsFor(side)
          .default([])
          .describe('Headers to set, by name; existing values are replaced.'),
        remove: z
          .array(changeableHeaderName(side).toLowerCase())
          .default([])
          .describe('Names of headers to remove.'),
      })
      // A transform, because a refinement would also run if a field was refused.
      .transform((modifier, context) => {
        const { add, set, remove } = modifier
        const names = [...add, ...set].map(([name]) => name).concat(remove)
        const duplicate = names.find((name, at) => names.indexOf(name) !== at)
        if (duplicate === undefined) return modifier
        return refuseValue(context, `got '${duplicate}' twice, expected each header once`)
      })
      .meta({ id: ID[side], description: `Changes headers of the ${side}.` })
  )
}

export const REQUEST_HEADERS = headerModifier('request')
export const RESPONSE_HEADERS = headerModifier('response')
