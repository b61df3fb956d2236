import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ChatCaller } from '../../perf/chat-client.ts'
import { CHAT_END, chatChunk } from '../../perf/chat-fixtures.ts'
import { Deferred } from '../../perf/deferred.ts'
import { deadline } from '../support/deadline.ts'

const client = suite('perf chat client')

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

/** One write after the other. */
function answer(socket: Socket, writes: readonly string[]): void {
  const [text, ...more] = writes
  if (text !== undefined) socket.write(text, () => answer(socket, more))
}

/** What a caller tells of an answer that comes in these pieces. */
async function toldOf(...writes: string[]): Promise<string[]> {
  const told: string[] = []
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => answer(socket, writes))
  }).listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'listening')
  const end = new Deferred()
  const caller = new ChatCaller((server.address() as AddressInfo).port, {
    first: () => told.push('first'),
    stamp: (micros) => told.push(`stamp ${micros}`),
    ended: () => end.resolve(),
    failed: ({ message }) => {
      told.push(message)
      end.resolve()
    },
  })
  try {
    await deadline(caller.ready(), 30_000, 'connecting')
    caller.send('ask')
    await deadline(end.promise, 30_000, 'the end of the answer')
  } finally {
    caller.socket.destroy()
    server.close()
  }
  return told
}

client('tells of the first byte of the body, each chunk and the end', async () => {
  const told = await toldOf(HEAD + chatChunk(1) + chatChunk(2), chatChunk(3) + CHAT_END)
  assert.equal(told, ['first', 'stamp 1', 'stamp 2', 'stamp 3'])
})

client('does not take the head for the first byte, and knows an end that is cut', async () => {
  const told = await toldOf(HEAD, chatChunk(1) + CHAT_END.slice(0, -4), CHAT_END.slice(-4))
  assert.equal(told, ['first', 'stamp 1'])
})

client('fails when the answer is no 200', async () => {
  const told = await toldOf('HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n')
  assert.match(told.join(), /429 Too Many Requests/)
})

client.run()
