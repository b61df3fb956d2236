// What users write to change headers, with the names that only the gateway itself may set.

import { z } from 'zod'
import { headerValue, isHeaderName, refuse } from './scalars.ts'
import type { HeaderField } from '../../cel/computed-headers.ts'

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

export type Side = 'request' | 'response'

function wrongName(name: string, side: Side): string | undefined {
  if (!isHeaderName(name)) return `got '${name}', expected a valid header name`
  const lower = name.toLowerCase()
  if (side === 'request' && lower === 'host')
    return `cannot change '${name}' here, use urlRewrite.authority`
  return RESERVED.has(lower) ? `cannot change '${name}', the gateway sets it itself` : undefined
}

/** A header name that may be changed, as it was written. */
export function changeable(side: Side) {
  return z.string().superRefine((name, context) => {
    const wrong = wrongName(name, side)
    if (wrong !== undefined) refuse(context, wrong)
  })
}

/** Names, in lower case, and values. */
export function fields(side: Side) {
  return z
    .record(changeable(side), headerValue)
    .transform((written) =>
      Object.entries(written).map(([name, value]): HeaderField => [name.toLowerCase(), value]),
    )
}

const ID = { request: 'RequestHeaders', response: 'ResponseHeaders' }

function headerModifier(side: Side) {
  return (
    z
      .strictObject({
        add: fields(side).default([]).describe('Values to append'),
        set: fields(side).default([]).describe('Values to replace'),
        remove: z.array(changeable(side).toLowerCase()).default([]).describe('Names to take out'),
      })
      // A transform: unlike a refinement it is not asked about fields that were refused.
      .transform((modifier, context) => {
        const { add, set, remove } = modifier
        const names = [...add, ...set].map(([name]) => name).concat(remove)
        const twice = names.find((name, at) => names.indexOf(name) !== at)
        if (twice === undefined) return modifier
        return refuse(context, `got '${twice}' twice, expected each header once`)
      })
      .meta({ id: ID[side], description: `Headers of the ${side}` })
  )
}

export const REQUEST_HEADERS = headerModifier('request')
export const RESPONSE_HEADERS = headerModifier('response')
