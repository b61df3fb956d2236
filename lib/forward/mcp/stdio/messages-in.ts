// Reads one line of a child's output.

import { isUtf8 } from 'node:buffer'
import { itemsOf, valueOf } from '../../../base/json/scan.ts'
import { Message } from '../message.ts'

const OPEN_BRACKET = 0x5b

/** Its message, or those of a batch, as 2025-03-26 has them; for each that is none, what is wrong with it. */
export function messagesIn(line: Buffer): (Message | string)[] {
  let bytes = line
  let whole = valueOf(bytes)
  // A server that prints a file of another encoding is wrong, but its client waits for the answer.
  if (whole === null && !isUtf8(bytes)) {
    bytes = Buffer.from(bytes.toString('utf8'))
    whole = valueOf(bytes)
  }
  if (whole === null) return ['not valid JSON']
  if (bytes[whole.from] !== OPEN_BRACKET) return [Message.at(bytes, whole)]
  return itemsOf(bytes, whole).map((item) => Message.at(bytes, item))
}
