// What a target's answer is made of, and the messages in it.

import { itemsOf, valueOf } from '../../../base/json/scan.ts'
import type { ResponseHead } from '../../../base/wire/head.ts'
import { Message } from '../message.ts'

/** `unreadable`: encoded, which nobody asked for, or of another type. */
export type Content = 'json' | 'events' | 'unreadable'

const OPEN_BRACKET = 0x5b

export function contentOf(head: ResponseHead): Content {
  const coding = head.get('content-encoding')?.toLowerCase() ?? 'identity'
  if (coding !== 'identity') return 'unreadable'
  const [type = ''] = (head.get('content-type') ?? '').split(';')
  switch (type.trim().toLowerCase()) {
    case 'application/json':
      return 'json'
    case 'text/event-stream':
      return 'events'
    default:
      return 'unreadable'
  }
}

/** One message or a batch of them, or what is wrong with the bytes. */
export function messagesIn(bytes: Buffer): Message[] | string {
  const whole = valueOf(bytes)
  if (whole === null) return 'not valid JSON'
  const spans = bytes[whole.from] === OPEN_BRACKET ? itemsOf(bytes, whole) : [whole]
  const messages: Message[] = []
  for (const span of spans) {
    const message = Message.at(bytes, span)
    if (typeof message === 'string') return message
    messages.push(message)
  }
  return messages
}
