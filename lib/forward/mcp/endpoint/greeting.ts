// An `initialize` of the gateway's own, where no client has sent one.

import { VERSION } from '../../../base/version.ts'
import { Message } from '../message.ts'

export function greetingOf(version: string): Message {
  const params = {
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: 'gateway', version: VERSION },
  }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  // Our own words: they are a message.
  return Message.from(Buffer.from(text)) as Message
}
