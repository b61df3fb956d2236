// The one message of a gRPC answer, wherever the stream is cut.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  framed,
  MAX_ANSWER_BYTES,
  MessageIn,
} from '../../../lib/enforce/remote-limit/grpc-message.ts'
import { Malformed } from '../../../lib/enforce/remote-limit/protobuf.ts'
import { splits } from '../../support/splits.ts'

const messages = suite('gRPC message')

/** The message in these chunks, each of which is overwritten once it was read; or why there is none. */
function read(chunks: readonly Buffer[]): string {
  const message = new MessageIn()
  try {
    for (const chunk of chunks) {
      const passing = Buffer.from(chunk)
      message.write(passing)
      passing.fill(0xff)
    }
    return message.end().toString('latin1')
  } catch (error) {
    assert.instance(error, Malformed)
    return `! ${(error as Malformed).message}`
  }
}

const STREAMS: [wire: string, read: string][] = [
  ['\0\0\0\0\x03abc', 'abc'],
  ['\0\0\0\0\0', ''],
  ['\0\0\0\x01\x02' + 'a'.repeat(258), 'a'.repeat(258)],
  ['', '! no whole message'],
  ['\0\0\0\0', '! no whole message'],
  ['\0\0\0\0\x03ab', '! no whole message'],
  ['\0\0\0\0\x01ab', '! more than one message'],
  ['\0\0\0\0\0\0\0\0\0\0', '! more than one message'],
  ['\x01\0\0\0\x01a', '! a compressed message'],
  ['\0\x00\x04\0\x01a', '! a message that is too long'],
  ['\0\xff\xff\xff\xffa', '! a message that is too long'],
]

messages('is read at every split', () => {
  for (const [wire, told] of STREAMS)
    for (const chunks of splits(Buffer.from(wire, 'latin1'))) assert.is(read(chunks), told)
})

messages('is read as it was framed, up to the bound', () => {
  const longest = Buffer.alloc(MAX_ANSWER_BYTES, 'x')
  assert.is(read([framed(longest)]).length, MAX_ANSWER_BYTES)
  assert.is(read([framed(Buffer.from('abc'))]), 'abc')
  const longer = Buffer.alloc(MAX_ANSWER_BYTES + 1)
  assert.is(read([framed(longer)]), '! a message that is too long')
})

messages.run()
