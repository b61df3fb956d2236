// Bodies in a trace: copied up to a bound as they pass, and never delayed.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('bodies in a trace')
const stage = new Stage()
trace.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/

function textOf({ body }: Record<string, unknown>): string {
  return Buffer.from(String(body), 'base64').toString()
}

function smallTo(backend: { port: number }): string {
  return `config: { trace: { maxBodyBytes: 1024 } }\n${routeTo(backend)}`
}

trace('a longer body is truncated in the trace only', async () => {
  const backend = await stage.backend([
    { wait: /x{1030}$/ },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: 1025\r\n\r\n${'y'.repeat(1025)}` },
  ])
  const gateway = await stage.gateway(smallTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1030\r\n\r\n' + 'x'.repeat(1030))
  await client.until(/y{1025}$/)
  await watched.all()
  const sent = watched.messageOf('bodySnapshot final request')
  assert.equal(
    { ...sent, body: textOf(sent) },
    {
      type: 'bodySnapshot',
      stage: 'final request',
      body: 'x'.repeat(1024),
      bytes: 1030,
      truncated: true,
    },
  )
  assert.is(textOf(watched.messageOf('bodySnapshot response')), 'y'.repeat(1024))
})

trace('a body of exactly the bound is not truncated', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: `HTTP/1.1 200 OK\r\ncontent-length: 1024\r\n\r\n${'y'.repeat(1024)}` },
  ])
  const gateway = await stage.gateway(smallTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await watched.all()
  assert.is(watched.messageOf('bodySnapshot response')['truncated'], undefined)
})

const STREAM: Step[] = [
  { wait: HEAD },
  { send: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n' },
  { hold: true },
  { send: '3\r\ntwo\r\n0\r\n\r\n' },
]

trace('a stream is shown without its framing', async () => {
  const backend = await stage.backend(STREAM)
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/3\r\none\r\n$/)
  assert.is(watched.list().at(-1), 'responseSnapshot final response')
  backend.release()
  await client.until(/3\r\ntwo\r\n0\r\n\r\n$/)
  await watched.all()
  assert.is(textOf(watched.messageOf('bodySnapshot response')), 'onetwo')
  assert.is(watched.messageOf('bodySnapshot response')['bytes'], 6)
})

trace('a chunked request is shown as the backend reads it', async () => {
  const backend = await stage.backend([
    { wait: /0\r\n\r\n$/ },
    { send: 'HTTP/1.1 204 No Content\r\n\r\n' },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(
    'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n',
  )
  await watched.all()
  assert.is(textOf(watched.messageOf('bodySnapshot final request')), 'onetwo')
})

trace('an upgraded connection is traced to its end, without its bytes', async () => {
  const backend = await stage.backend([
    { wait: HEAD },
    { send: 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello' },
    { close: true },
  ])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  await client.until(/hello$/)
  client.destroy()
  await watched.all()
  assert.is(watched.list().at(-1), 'requestFinished')
  assert.not.ok(watched.list().includes('bodySnapshot response'))
})

trace.run()
