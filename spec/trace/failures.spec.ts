// Requests that fail: the trace shows where, and always ends.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of failures')
const stage = new Stage()
trace.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello'
const LAST = ['responseSnapshot final response', 'bodySnapshot response', 'requestFinished']

/** The events after the selection of a backend. */
function eventsAfterSelection(watched: TraceWatcher): string[] {
  const list = watched.list()
  return list.slice(list.indexOf('policySelection backend') + 1)
}

/** The severity of the first event of a type. */
function severityOf(watched: TraceWatcher, type: string): string | undefined {
  return watched.events.find(({ message }) => message.type === type)?.severity
}

trace('the backend refuses connections', async () => {
  const backend = await stage.backend([])
  const { port } = backend
  await backend.close()
  const gateway = await stage.gateway(routeTo({ port }))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'requestSnapshot final request',
    'backendCallStart',
    'backendCallResult',
    ...LAST,
  ])
  const { status, error } = watched.messageOf('backendCallResult')
  assert.is(status, null)
  assert.match(String(error), /^upstream call failed: /)
  assert.is(severityOf(watched, 'backendCallResult'), 'info')
  const finished = watched.messageOf('requestFinished')
  assert.is(finished['status'], 503)
  assert.is(finished['error'], error)
  assert.is(severityOf(watched, 'requestFinished'), 'info')
})

trace('the backend does not answer in time', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend, 'timeout: { backendRequestTimeout: 20ms }'))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST)
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'requestSnapshot final request',
    'backendCallStart',
    'bodySnapshot final request',
    'backendCallResult',
    ...LAST,
  ])
  assert.is(watched.messageOf('requestFinished')['status'], 504)
})

trace('the request times out: the call ends before the response', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend, 'timeout: { requestTimeout: 20ms }'))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'requestSnapshot final request',
    'backendCallStart',
    'backendCallResult',
    ...LAST,
  ])
  assert.is(watched.messageOf('backendCallResult')['error'], 'request timeout')
})

const HALF: Step[] = [{ wait: HEAD }, { send: 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf' }]

trace('the backend fails in the middle of its body: the received part is shown', async () => {
  const backend = await stage.backend([...HALF, { reset: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await watched.all()
  assert.equal(watched.list().slice(-3), LAST)
  const { body, bytes } = watched.messageOf('bodySnapshot response')
  assert.is(Buffer.from(String(body), 'base64').toString(), 'half')
  assert.is(bytes, 4)
  const finished = watched.messageOf('requestFinished')
  assert.is(finished['status'], 200)
  assert.is(finished['error'], 'backend_reset')
  assert.is(severityOf(watched, 'requestFinished'), 'info')
})

trace('the client disconnects before there is a response', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await backend.until((text) => HEAD.test(text))
  client.reset()
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'requestSnapshot final request',
    'backendCallStart',
    'backendCallResult',
    'requestFinished',
  ])
  assert.is(watched.messageOf('backendCallResult')['error'], 'client_closed')
  const finished = watched.messageOf('requestFinished')
  assert.is(finished['status'], null)
  assert.is(finished['error'], 'client_closed')
})

trace('the client disconnects in the middle of the response', async () => {
  const backend = await stage.backend([...HALF, { hold: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/half$/)
  client.reset()
  await watched.all()
  assert.equal(watched.list().slice(-3), LAST)
  assert.is(watched.messageOf('requestFinished')['error'], 'client_closed')
})

trace(
  'a response before the end of the request: the sent part of the request is shown',
  async () => {
    const backend = await stage.backend([
      { wait: /hel/ },
      { send: 'HTTP/1.1 413 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n' },
      { close: true },
    ])
    const gateway = await stage.gateway(routeTo(backend))
    const watched = TraceWatcher.at(gateway)
    const client = await stage.client(gateway)
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhel')
    await watched.all()
    const events = eventsAfterSelection(watched)
    assert.is(events.filter((words) => words === 'bodySnapshot final request').length, 1)
    assert.is(events.at(-1), 'requestFinished')
    const { body } = watched.messageOf('bodySnapshot final request')
    assert.is(Buffer.from(String(body), 'base64').toString(), 'hel')
  },
)

trace('a failed attempt and a successful one follow each other', async () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const backend = await stage.backend(
    [{ wait: /hello/ }, { reset: true }],
    [{ wait: /hello/ }, { send: answer }],
  )
  const retry = 'retry: { attempts: 1, backoff: 1ms }'
  const gateway = await stage.gateway(routeTo(backend, retry))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST)
  await watched.all()
  const call = ['requestSnapshot final request', 'backendCallStart', 'bodySnapshot final request']
  assert.equal(eventsAfterSelection(watched), [
    ...call,
    'backendCallResult',
    'policySelection backend',
    ...call,
    'backendCallResult',
    'responseSnapshot raw response',
    'responseSnapshot backend response ready',
    ...LAST,
  ])
})

trace.run()
