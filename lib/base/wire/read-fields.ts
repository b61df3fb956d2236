// What the fields of a head mean for framing and the connection. Here a proxy is stricter than a parser:
// whatever the backend could read differently than we did is refused.

import { GatewayError } from '../errors.ts'
import { contentLength, isHost } from './field-rules.ts'
import { RequestHead, ResponseHead } from './head.ts'
import type { Fields } from './head.ts'

/**
 * Reads what the fields say about framing and connection and takes out what belongs to one hop only.
 * Returns the index of Host, -1 without one, -2 with several.
 */
export function readFields(head: RequestHead | ResponseHead, mayUpgrade: boolean): number {
  const { text, spans: at } = head
  let host = -1
  let named = ''
  for (let i = 0; i < at.length; i += 4) {
    const from = at[i]!
    const length = at[i + 1]! - from
    // By length first: most fields are told apart without looking at a letter.
    switch (length) {
      case 2:
        if (is(text, from, 'te')) head.removeAt(i)
        break
      case 4:
        if (is(text, from, 'host')) host = host === -1 ? i : -2
        break
      case 7:
        if (is(text, from, 'upgrade')) {
          if (mayUpgrade) head.upgrade = text.substring(at[i + 2]!, at[i + 3])
          head.removeAt(i)
        }
        break
      case 10:
        if (is(text, from, 'connection')) {
          const value = text.substring(at[i + 2]!, at[i + 3]).toLowerCase()
          // This llhttp misses `close` with a tab behind it.
          if (value === 'close') head.keepAlive = false
          else if (value !== 'keep-alive') named += ',' + value
          head.removeAt(i)
        } else if (is(text, from, 'keep-alive')) {
          if (head instanceof ResponseHead)
            head.keepAliveHint = keepAliveHint(text.substring(at[i + 2]!, at[i + 3]))
          head.removeAt(i)
        }
        break
      case 14:
        if (is(text, from, 'content-length'))
          head.length = lengthOf(head, text.substring(at[i + 2]!, at[i + 3]))
        break
      case 16:
        if (is(text, from, 'proxy-connection')) head.removeAt(i)
        break
      case 17:
        if (is(text, from, 'transfer-encoding')) {
          // Twice `chunked` is a coding of its own, too.
          if (head.chunked || text.substring(at[i + 2]!, at[i + 3]).toLowerCase() !== 'chunked')
            throw badFraming(head, 'unknown transfer coding')
          head.chunked = true
        }
        break
    }
  }
  if (named !== '') removeNamed(head, named)
  // With a body before it, where the tunnel starts would be a matter of opinion.
  if (head instanceof RequestHead && (head.chunked || head.length > 0)) head.upgrade = ''
  // An h2c upgrade would tunnel requests past every policy.
  if (head.upgrade !== '' && /\bh2c\b/i.test(head.upgrade)) head.upgrade = ''
  return host
}

function is(text: string, from: number, name: string): boolean {
  return (
    (text.charCodeAt(from) | 32) === name.charCodeAt(0) &&
    text.substring(from, from + name.length).toLowerCase() === name
  )
}

/** Fields that Connection may name but a proxy cannot do without. */
const KEPT = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'close',
  'keep-alive',
  'upgrade',
  '',
])

function removeNamed(head: RequestHead | ResponseHead, named: string): void {
  for (const token of named.split(',')) {
    const name = token.trim()
    if (name === 'close') head.keepAlive = false
    if (!KEPT.has(name)) head.remove(name)
  }
}

function keepAliveHint(value: string): number {
  const found = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(value)
  return found === null ? -1 : Number(found[1]) * 1000
}

function lengthOf(head: Fields, value: string): number {
  const length = contentLength(value)
  if (length === null) throw badFraming(head, 'content-length out of range')
  return length
}

function badFraming(head: Fields, what: string): GatewayError {
  return head instanceof RequestHead
    ? new GatewayError('BAD_FRAMING', `invalid request: ${what}`)
    : invalidResponse(what)
}

/** Takes the authority from Host, or sets Host by the authority of an absolute target. `at`: see `readFields`. */
export function checkHost(head: RequestHead, at: number): void {
  if (at === -2) throw new GatewayError('BAD_HOST', 'invalid request: more than one Host')
  if (head.authority !== '' && !isHost(head.authority)) throw malformedHost()
  if (at === -1) {
    if (head.version === 'HTTP/1.1') throw new GatewayError('BAD_HOST', 'invalid request: no Host')
    if (head.authority !== '') head.set('host', head.authority)
    return
  }
  const host = head.text.substring(head.spans[at + 2]!, head.spans[at + 3])
  if (!isHost(host)) throw malformedHost()
  if (head.authority === '') head.authority = host
  else if (head.authority !== host) head.set('host', head.authority)
}

function malformedHost(): GatewayError {
  return new GatewayError('BAD_HOST', 'invalid request: malformed Host')
}

export function invalidResponse(what: string): GatewayError {
  return new GatewayError('BACKEND_INVALID', `upstream call failed: invalid response: ${what}`)
}
