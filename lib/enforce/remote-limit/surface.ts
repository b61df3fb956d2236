// What a rate limit service has to say on heads: fields for the request, and for the answer whoever makes it.

import type { Exchange } from '../../base/exchange.ts'
import { tighter } from '../../base/limit/tighter.ts'
import { replyOf } from '../../base/reply.ts'
import type { Allowance, Reply } from '../../base/types.ts'
import { isForbiddenTrailer } from '../../base/wire/field-rules.ts'
import type { Fields } from '../../base/wire/head.ts'
import { tellAllowance } from '../allowance-fields.ts'
import type { Header, RateLimitAnswer, Status } from './codec.ts'

/** Of those a service sends at a time. */
const MAX_HEADERS = 32
const MAX_VALUE_LENGTH = 8_192

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** No control characters but tabs: least of all the ends of lines. */
const VALUE = /^[\t -~\x80-\xff]*$/

/** Requests may pass, with what the service adds to them. */
export function surface(exchange: Exchange, answer: RateLimitAnswer): void {
  tighten(exchange, answer.statuses)
  put(exchange.request, sound(answer.requestHeaders))
  remember(exchange, sound(answer.responseHeaders))
}

/** The 429 of a service that says no, in its words if it has any. */
export function refusalOf(exchange: Exchange, answer: RateLimitAnswer): Reply {
  exchange.refusal = 'rate_limit'
  const over = answer.statuses.filter(({ code }) => code === 'over')
  const allowance = tightest(over)
  tighten(exchange, over)
  remember(exchange, sound(answer.responseHeaders))
  const content = answer.body.length === 0 ? 'rate limit exceeded' : answer.body
  const reply = replyOf(429, [['content-type', 'text/plain']], content)
  if (allowance !== null && allowance.reset > 0)
    reply.head.add('retry-after', String(allowance.reset))
  return reply
}

/** On the way out: what is left, unless the service has its own words for it. */
export function dress(exchange: Exchange, head: Fields): void {
  tellAllowance(exchange, head)
  put(head, exchange.limitFields)
}

function tighten(exchange: Exchange, statuses: readonly Status[]): void {
  const allowance = tightest(statuses)
  if (allowance !== null) exchange.allowance = tighter(exchange.allowance, allowance)
}

function tightest(statuses: readonly Status[]): Allowance | null {
  let met: Allowance | null = null
  for (const { limit, remaining, reset } of statuses)
    if (limit !== null) met = tighter(met, { limit, remaining, reset: reset ?? 0 })
  return met
}

/** In lower case, without those that would break a head, frame it anew or speak for its connection. */
function sound(headers: readonly Header[]): Header[] {
  return headers
    .slice(0, MAX_HEADERS)
    .map(([name, value]): Header => [name.toLowerCase(), value.replace(/^[\t ]+|[\t ]+$/g, '')])
    .filter(([name, value]) => NAME.test(name) && !isForbiddenTrailer(name) && isValue(value))
}

function isValue(value: string): boolean {
  return value.length <= MAX_VALUE_LENGTH && VALUE.test(value)
}

/** A later word on a field is the one that counts. */
function remember(exchange: Exchange, headers: readonly Header[]): void {
  if (headers.length === 0) return
  const names = new Set(headers.map(([name]) => name))
  const others = exchange.limitFields.filter(([name]) => !names.has(name))
  exchange.limitFields = [...others, ...headers]
}

/** In place of what was there: a client must not have a say in what the service tells. */
function put(fields: Fields, headers: readonly Header[]): void {
  for (const [name] of headers) fields.remove(name)
  for (const [name, value] of headers) fields.add(name, value)
}
