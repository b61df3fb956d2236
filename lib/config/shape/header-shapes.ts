// What users write to change headers, with the names that only the gateway itself may set.

import { z } from 'zod'
import { headerValue, isHeaderName, refuseValue } from './value-shapes.ts'
import type { HeaderField } from '../../expressions/computed-headers.ts'

/** They belong to one hop or to the framing of a body, which the gateway decides. */
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

function describeWrongHeaderName(name: string, side: HeaderSide): string | undefined {
  if (!isHeaderName(name)) return `got '${name}', expected a valid header name`
  const lower = name.toLowerCase()
  if (side === 'request' && lower === 'host')
    return `cannot change '${name}' here, use urlRewrite.authority`
  return RESERVED.has(lower) ? `cannot change '${name}', the gateway sets it itself` : undefined
}

/** A header name that may be changed, as it was written. */
export function changeableHeaderName(side: HeaderSide) {
  return z.string().superRefine((name, context) => {
    const wrong = describeWrongHeaderName(name, side)
    if (wrong !== undefined) refuseValue(context, wrong)
  })
}

/** Names, in lower case, and values. */
export function headerFieldsFor(side: HeaderSide) {
  return z
    .record(changeableHeaderName(side), headerValue)
    .transform((written) =>
      Object.entries(written).map(([name, value]): HeaderField => [name.toLowerCase(), value]),
    )
}

const ID = { request: 'RequestHeaders', response: 'ResponseHeaders' }

function headerModifier(side: HeaderSide) {
  return (
    z
      .strictObject({
        add: headerFieldsFor(side).default([]).describe('Values to append'),
        set: headerFieldsFor(side).default([]).describe('Values to replace'),
        remove: z
          .array(changeableHeaderName(side).toLowerCase())
          .default([])
          .describe('Names to take out'),
      })
      // A transform: unlike a refinement it is not asked about fields that were refused.
      .transform((modifier, context) => {
        const { add, set, remove } = modifier
        const names = [...add, ...set].map(([name]) => name).concat(remove)
        const twice = names.find((name, at) => names.indexOf(name) !== at)
        if (twice === undefined) return modifier
        return refuseValue(context, `got '${twice}' twice, expected each header once`)
      })
      .meta({ id: ID[side], description: `Headers of the ${side}` })
  )
}

export const REQUEST_HEADERS = headerModifier('request')
export const RESPONSE_HEADERS = headerModifier('response')
