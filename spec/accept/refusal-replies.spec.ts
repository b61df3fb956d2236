import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RefusalReplies } from '../../lib/accept/admission.ts'
import { deadline } from '../support/deadline.ts'

const refusals = suite('accept/refusal replies')

refusals('answers at once a connection whose request another worker has read', async () => {
  const request = Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const server = createServer({ pauseOnConnect: true }, (socket) =>
    new RefusalReplies().send(socket, 'no room', request),
  ).listen(0, '127.0.0.1')
  await deadline(once(server, 'listening'), 30_000, 'a server')
  // The client sends nothing: the gateway has its request already.
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  client.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
  await deadline(once(client, 'close'), 30_000, 'the refusal')
  server.close()
  assert.match(text, /^HTTP\/1\.1 503 [^]*\r\n\r\nno room$/)
})

refusals.run()
