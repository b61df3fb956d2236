// The single message of a gRPC response, at every split of the stream.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  frameGrpcMessage,
  MAX_GRPC_RESPONSE_BYTES,
  GrpcMessageReader,
} from '../../../lib/enforce/limit/rate-limit-call.ts'
import { MalformedMessage } from '../../../lib/enforce/limit/rate-limit-messages.ts'
import { splits } from '../../support/splits.ts'

const messages = suite('gRPC message')

/** The message in these chunks, each overwritten after it was read; or why there is none. */
function read(chunks: readonly Buffer[]): string {
  const message = new GrpcMessageReader()
  try {
    for (const chunk of chunks) {
      const passing = Buffer.from(chunk)
      message.write(passing)
      passing.fill(0xff)
    }
    return message.end().toString('latin1')
  } catch (error) {
    assert.instance(error, MalformedMessage)
    return `! ${(error as MalformedMessage).message}`
  }
}

const STREAMS: [wire: string, read: string][] = [
  ['\0\0\0\0\x03abc', 'abc'],
  ['\0\0\0\0\0', ''],
  ['\0\0\0\x01\x02' + 'a'.repeat(258), 'a'.repeat(258)],
  ['', '! no complete message'],
  ['\0\0\0\0', '! no complete message'],
  ['\0\0\0\0\x03ab', '! no complete message'],
  ['\0\0\0\0\x01ab', '! more than one message'],
  ['\0\0\0\0\0\0\0\0\0\0', '! more than one message'],
  ['\x01\0\0\0\x01a', '! a compressed message'],
  ['\0\x00\x04\0\x01a', '! the message is too long'],
  ['\0\xff\xff\xff\xffa', '! the message is too long'],
]

messages('is read at every split', () => {
  for (const [wire, expected] of STREAMS)
    for (const chunks of splits(Buffer.from(wire, 'latin1'))) assert.is(read(chunks), expected)
})

messages('is read as it was framed, up to the bound', () => {
  const longest = Buffer.alloc(MAX_GRPC_RESPONSE_BYTES, 'x')
  assert.is(read([frameGrpcMessage(longest)]).length, MAX_GRPC_RESPONSE_BYTES)
  assert.is(read([frameGrpcMessage(Buffer.from('abc'))]), 'abc')
  const longer = Buffer.alloc(MAX_GRPC_RESPONSE_BYTES + 1)
  assert.is(read([frameGrpcMessage(longer)]), '! the message is too long')
})

messages.run()
