// The events of requests to HTTP backends, in the order of spec.md §6, and how failures appear in them.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../support/backend.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { Http2Client } from '../support/http2-client.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of HTTP backends')
const stage = new Stage()
trace.after.each(() => stage.clear())

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const POST = 'POST /a/b?c=d HTTP/1.1\r\nhost: shop.test:81\r\ncontent-length: 5\r\n\r\nhello'
const ANSWERS: Step[] = [{ wait: /hello/ }, { send: OK }]

const UP_TO_BACKEND = [
  'requestStarted',
  'requestSnapshot initial request',
  'policySelection gateway',
  'requestSnapshot gateway policies',
  'routeSelection',
  'policySelection route',
  'requestSnapshot route policies',
  'policySelection backend',
]
const ASKED = ['requestSnapshot final request', 'backendCallStart', 'bodySnapshot final request']
const BACK = [
  'backendCallResult',
  'responseSnapshot raw response',
  'responseSnapshot backend response ready',
  'responseSnapshot final response',
  'bodySnapshot response',
  'requestFinished',
]

function decoded(message: Record<string, unknown>): string {
  return Buffer.from(String(message['body']), 'base64').toString()
}

trace('has every event of the table once, in its order', async () => {
  const backend = await stage.backend(ANSWERS)
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST)
  await client.until(/ok$/)
  assert.equal(await watched.eventNames(), [...UP_TO_BACKEND, ...ASKED, ...BACK])
  assert.equal(watched.messageOf('backendCallStart')['target'], `127.0.0.1:${backend.port}`)
  assert.is(watched.messageOf('backendCallResult')['status'], 200)
  assert.is(watched.messageOf('backendCallResult')['error'], null)
  assert.is(decoded(watched.messageOf('bodySnapshot final request')), 'hello')
  assert.is(decoded(watched.messageOf('bodySnapshot response')), 'ok')
  assert.equal(watched.messageOf('requestFinished'), {
    type: 'requestFinished',
    status: 200,
    error: null,
  })
})

trace('shows what rules read of a request', async () => {
  const backend = await stage.backend(ANSWERS)
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST)
  await watched.all()
  const { startTime, headers, ...request } = watched.state(
    'requestSnapshot initial request',
    'request',
  )
  assert.equal(request, {
    method: 'POST',
    uri: 'http://shop.test:81/a/b?c=d',
    path: '/a/b',
    pathAndQuery: '/a/b?c=d',
    host: 'shop.test',
    scheme: 'http',
    version: 'HTTP/1.1',
  })
  assert.equal(headers, { host: 'shop.test:81', 'content-length': '5' })
  assert.ok(!Number.isNaN(Date.parse(String(startTime))))
  const source = watched.state('requestSnapshot initial request', 'source')
  assert.is(source['address'], '127.0.0.1')
  assert.equal(watched.state('requestSnapshot initial request', 'env'), {})
  assert.equal(watched.state('requestSnapshot final request', 'backend'), {
    name: 'gateway/default/default/all/backend0',
    type: 'static',
    protocol: 'http',
  })
  assert.equal(watched.state('requestSnapshot final request', 'proxy')['route'], {
    namespace: 'default',
    name: 'all',
    kind: 'HTTPRoute',
  })
  assert.equal(watched.messageOf('routeSelection'), {
    type: 'routeSelection',
    selectedRoute: 'gateway/default/default/all',
    evaluatedRoutes: ['gateway/default/default/all'],
  })
})

trace('lists the configured policies, and limits only if there are some', async () => {
  const limit = 'localRateLimit: [{ maxTokens: 2, tokensPerFill: 2, fillInterval: 1h }]'
  for (const [policies, names] of [
    ['', []],
    [limit, ['localRateLimit']],
  ] as const) {
    const gateway = await stage.gateway(routeTo(await stage.backend(ANSWERS), policies))
    const watched = TraceWatcher.at(gateway)
    const client = await stage.client(gateway)
    client.send(POST)
    await watched.all()
    const shown = watched.messageOf('policySelection route')['effectivePolicy'] as object
    assert.equal(Object.keys(shown), names)
  }
})

trace('has microseconds since the start, and the duration of the backend call', async () => {
  const backend = await stage.backend(ANSWERS)
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST)
  const events = await watched.all()
  let last = 0
  for (const { eventStart, eventEnd, severity } of events) {
    assert.ok(Number.isInteger(eventEnd) && eventEnd >= last)
    assert.ok(eventStart === null || eventStart <= eventEnd)
    assert.is(severity, 'info')
    last = eventEnd
  }
  const timed = events.filter(({ eventStart }) => eventStart !== null)
  assert.equal(
    timed.map(({ message }) => message.type),
    ['backendCallResult'],
  )
  const proxy = watched.state('responseSnapshot raw response', 'proxy')
  assert.match(String(proxy['requestProcessingDuration']), /^\d+\.\d{6}s$/)
  assert.match(String(proxy['upstreamDuration']), /^\d+\.\d{6}s$/)
})

trace('has the same events for an HTTP/2 client', async () => {
  const backend = await stage.backend([{ wait: /hello/ }, { send: OK }])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = stage.add(new Http2Client(`http://127.0.0.1:${gateway.port}`))
  const request = client.request({ ':method': 'POST', ':path': '/' })
  request.stream.end('hello')
  await request.closed()
  assert.equal(await watched.eventNames(), [...UP_TO_BACKEND, ...ASKED, ...BACK])
  assert.is(watched.state('requestSnapshot initial request', 'request')['version'], 'HTTP/2')
})

trace('repeats the events of the backend call for a retry', async () => {
  const backend = await stage.backend([
    { wait: /hello/ },
    { send: 'HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n' },
    { wait: /hello/ },
    { send: OK },
  ])
  const retry = 'retry: { attempts: 2, codes: [503], backoff: 1ms }'
  const gateway = await stage.gateway(routeTo(backend, retry))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send(POST.replace('POST', 'PUT'))
  await client.until(/ok$/)
  assert.equal(await watched.eventNames(), [
    ...UP_TO_BACKEND,
    ...ASKED,
    'backendCallResult',
    'responseSnapshot raw response',
    'policySelection backend',
    ...ASKED,
    ...BACK,
  ])
})

trace('has no body snapshot without a body', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: 'HTTP/1.1 204 No Content\r\n\r\n' }])
  const gateway = await stage.gateway(routeTo(backend))
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const events = await watched.eventNames()
  assert.not.ok(events.some((words) => words.startsWith('bodySnapshot')))
})

trace('shows the request after each step, and what is sent to the backend', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }])
  const gateway = await stage.gateway(
    routeTo(
      backend,
      'urlRewrite: { path: { full: /new }, authority: { full: inner.test } }, ' +
        'transformations: { request: { set: { x-a: \'"1"\', x-b: jwt.sub } } }, ' +
        'responseHeaderModifier: { set: { x-c: d } }',
    ),
  )
  const watched = TraceWatcher.at(gateway)
  const client = await stage.client(gateway)
  client.send('GET /old HTTP/1.1\r\nhost: a\r\n\r\n')
  const events = await watched.eventNames()
  const between = events.slice(
    events.indexOf('policySelection route') + 1,
    events.indexOf('policySelection backend'),
  )
  assert.equal(between, [
    'cel',
    'policy transformation',
    'policy urlRewrite',
    'requestSnapshot route policies',
  ])
  assert.equal(watched.messageOf('cel'), {
    type: 'cel',
    expr: 'jwt.sub',
    result: { error: 'no_such_key' },
  })
  const result = watched.messageOf('policy transformation')['result'] as {
    details: string
    snapshot: { request: { headers: Record<string, string> } }
  }
  assert.is(result.details, 'passed')
  assert.is(result.snapshot.request.headers['x-a'], '1')
  assert.is(watched.state('requestSnapshot gateway policies', 'request')['path'], '/old')
  const sent = watched.state('requestSnapshot final request', 'request')
  assert.is(sent['path'], '/new')
  assert.is(sent['host'], 'inner.test')
  assert.equal(watched.messageOf('policy responseHeaderModifier')['result'], {
    type: 'apply',
    details: 'changed the response',
    snapshot: null,
  })
  const raw = watched.state('responseSnapshot backend response ready', 'response')
  const last = watched.state('responseSnapshot final response', 'response')
  assert.is((raw['headers'] as Record<string, string>)['x-c'], undefined)
  assert.is((last['headers'] as Record<string, string>)['x-c'], 'd')
})

trace('gives each watcher one request, in the order of the watchers', async () => {
  const backend = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const gateway = await stage.gateway(routeTo(backend))
  const watchers = [TraceWatcher.at(gateway), TraceWatcher.at(gateway)]
  for (const path of ['/1', '/2', '/3']) {
    const client = await stage.client(gateway)
    client.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
    await client.until(/ok$/)
  }
  for (const [at, watched] of watchers.entries()) {
    await watched.all()
    const { path } = watched.state('requestSnapshot initial request', 'request')
    assert.is(path, `/${at + 1}`)
    assert.is(watched.list().filter((words) => words === 'requestFinished').length, 1)
    assert.is(watched.list().at(-1), 'requestFinished')
  }
  assert.is(gateway.watchers.count, 0)
})

trace.run()
