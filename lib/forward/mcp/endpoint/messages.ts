// A POST's body as messages: one, or a batch where the version has them.

import { itemsOf, valueOf } from '../../../base/json/scan.ts'
import { MAX_BATCH } from '../bounds.ts'
import { Message } from '../message.ts'
import { CODES } from '../rpc.ts'
import type { RpcError } from '../rpc.ts'
import { BATCHES } from './versions.ts'

const OPEN_BRACKET = 0x5b

export interface Posted {
  readonly messages: readonly Message[]
  readonly isBatch: boolean
}

export function messagesIn(bytes: Buffer): Posted | RpcError {
  const whole = valueOf(bytes)
  if (whole === null) return { code: CODES.parse, message: unreadable('not valid JSON') }
  const isBatch = bytes[whole.from] === OPEN_BRACKET
  const spans = isBatch ? itemsOf(bytes, whole, MAX_BATCH + 1) : [whole]
  if (spans.length === 0 || spans.length > MAX_BATCH)
    return invalid(`a batch holds 1 to ${MAX_BATCH} messages`)
  const messages: Message[] = []
  for (const span of spans) {
    const message = Message.at(bytes, span)
    if (typeof message === 'string') return invalid(message)
    if (message.kind === 'request' && message.idText === 'null')
      return invalid('not a JSON-RPC message: a request needs an id that is not null')
    // Rules are for requests; what a lenient target would take for one must not get past them.
    if (message.kind === 'notification' && !message.method.startsWith('notifications/'))
      return invalid(`'${message.method}' needs an id`)
    if (isBatch && message.method === 'initialize')
      return invalid('initialize cannot be part of a batch')
    messages.push(message)
  }
  return { messages, isBatch }
}

/** Batches came and went with one version. */
export function batchFault({ isBatch }: Posted, version: string): RpcError | null {
  if (!isBatch || version === BATCHES) return null
  return { code: CODES.invalidRequest, message: unreadable(`no batches in version ${version}`) }
}

function invalid(reason: string): RpcError {
  return { code: CODES.invalidRequest, message: unreadable(reason) }
}

function unreadable(reason: string): string {
  return `fail to deserialize request body: ${reason}`
}
