// Targets of the HTTP+SSE transport, as scripted.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Secret } from '../../../../lib/text/secret.ts'
import { SseLink } from '../../../../lib/forward/mcp/remote/sse-link.ts'
import type { Step } from '../../../support/backend.ts'
import { contentOf } from '../../../support/exchange-of.ts'
import { Stage } from '../../../support/gateway.ts'
import { splits } from '../../../support/splits.ts'
import {
  ACCEPTED,
  CHUNKED_EVENTS,
  EVENTS,
  INITIALIZED,
  PROGRESS,
  WAIT,
  allClosed,
  answer,
  event,
  requestsAt,
  linkTo,
  request,
  result,
} from './link-stage.ts'

const legacy = suite('forward/mcp/remote/legacy')
const stage = new Stage()
legacy.after.each(() => stage.clear())

const linkSetup = { stage, Link: SseLink }
const SSE = { kind: 'sse', path: '/a/sse' } as const
const TAKES: Step[] = [WAIT, ACCEPTED, { again: true }]
const GONE = "closed: target 'x' "

function endpoint(address: string): string {
  return `event: endpoint\ndata: ${address}\n\n`
}

/** A stream that sends this endpoint, then this text when it is released. */
function stream(address: string, ...said: string[]): Step[] {
  const rest = said.flatMap((text): Step[] => [{ hold: true }, { send: text }])
  return [WAIT, { send: EVENTS + endpoint(address) }, ...rest]
}

legacy('posts messages to the endpoint, and gets the answers on the stream', async () => {
  const script = stream('/messages?session=1', event(PROGRESS) + event(result(1)))
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [script, TAKES], SSE)
  link.send(request(1, 'initialize', [['x-user', 'ann']]))
  await backend.until((text) => text.includes('"id":1'))
  assert.equal(requestsAt(backend, 'x-user', 'accept', 'content-type'), [
    'GET /a/sse x-user: ann accept: text/event-stream',
    'POST /messages?session=1 x-user: ann content-type: application/json',
  ])
  backend.release()
  assert.equal(await recorder.count(2), [`0: ${PROGRESS}`, `0: ${result(1)}`])
  link.close()
  assert.is(recorder.recorded.length, 2)
  assert.is((await recorder.count(3))[2], "closed: the link to target 'x' was closed")
  await allClosed(backend, remote)
})

legacy('resolves the endpoint against its own URL', async () => {
  const cases = [
    ['messages', 'POST /a/messages'],
    ['../m?s=1#x', 'POST /m?s=1'],
    ['?s=1', 'POST /a/sse?s=1'],
    ['http://127.0.0.1:PORT/m n', 'POST /m%20n'],
  ] as const
  for (const [address, line] of cases) {
    const { backend, link } = await linkTo(linkSetup, [[]], SSE)
    const named = address.replace('PORT', String(backend.port))
    await backend.restart(stream(named), TAKES)
    link.send(request(1, 'initialize'))
    await backend.until((text) => text.includes('"id":1'))
    assert.is(requestsAt(backend)[1], line)
  }
})

legacy('sends nothing to an endpoint on another origin', async () => {
  const foreign = [
    'http://127.0.0.1:1/m',
    'https://127.0.0.1/m',
    '//b.example/m',
    'http://[',
    'data:x',
  ]
  for (const address of [...foreign, `/${'x'.repeat(9000)}`]) {
    const { backend, recorder, remote, link } = await linkTo(linkSetup, [stream(address)], SSE)
    link.send(request(1, 'initialize'))
    assert.equal(await recorder.count(1), [`${GONE}sent an endpoint that is not on its origin`])
    await allClosed(backend, remote)
    assert.equal(requestsAt(backend), ['GET /a/sse'])
  }
})

legacy('puts the credential into every request', async () => {
  const auth = { kind: 'query', name: 'k', key: new Secret('v') } as const
  const { backend, link } = await linkTo(linkSetup, [stream('/m?s=1'), TAKES], { ...SSE, auth })
  link.send(request(1, 'initialize'))
  await backend.until((text) => text.includes('"id":1'))
  assert.equal(requestsAt(backend), ['GET /a/sse?k=v', 'POST /m?s=1&k=v'])
})

legacy('reads the stream at every split', async () => {
  const bytes = Buffer.from(EVENTS + endpoint('/m') + event(result(1, '"ä"')))
  const all = [...splits(bytes)].filter((_chunks, at) => at < 2 || at % 11 === 0)
  for (const chunks of all) {
    const { recorder, link } = await linkTo(linkSetup, [[WAIT, { sendApart: chunks }], TAKES], SSE)
    link.send(request(1, 'initialize'))
    assert.equal(await recorder.count(1), [`0: ${result(1, '"ä"')}`])
    await stage.clear()
  }
})

legacy('lets nothing overtake notifications/initialized', async () => {
  const posts: Step[] = [WAIT, ACCEPTED, WAIT, { hold: true }, ACCEPTED, WAIT, ACCEPTED]
  const welcome = stream('/m').concat({ send: event(result(1)) })
  const { backend, recorder, link } = await linkTo(linkSetup, [welcome, posts], {
    ...SSE,
    poolMaxSize: 2,
  })
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(2))
  await backend.until((text) => text.includes('initialized'))
  assert.not.match(backend.received, '"id":2')
  backend.release()
  await backend.until((text) => text.includes('"id":2'))
})

legacy('delivers the HTTP error that the target sent instead of a stream', async () => {
  const refusal = answer('401 Unauthorized', 'www-authenticate: Bearer', 'no token')
  const { recorder, link } = await linkTo(linkSetup, [[WAIT, refusal]], SSE)
  link.send(request(1, 'initialize'))
  assert.equal(await recorder.count(2), [
    "failed 1: target 'x' answered 401",
    `${GONE}answered 401`,
  ])
  assert.is(recorder.replies[0]!.head.get('www-authenticate'), 'Bearer')
  assert.is(contentOf(recorder.replies[0]!), 'no token')
})

legacy('closes when its stream ends', async () => {
  const cases: [string, Step[]][] = [
    ['did not answer with an event stream', [answer('200 OK', 'content-type: text/html', 'x')]],
    ['ended its event stream', [{ send: EVENTS + endpoint('/m') }, { close: true }]],
    ['lost the connection of its event stream', [{ send: CHUNKED_EVENTS }, { close: true }]],
    ['failed: upstream call failed: connection reset', [{ reset: true }]],
    [
      'sent a message above the limit of 1000 bytes (config.mcp.maxMessageBytes)',
      [{ send: EVENTS + endpoint('/m') + event(result(1, `"${'x'.repeat(2000)}"`)) }],
    ],
  ]
  for (const [reason, steps] of cases) {
    const options = { ...SSE, maxMessageBytes: 1000 }
    const { backend, recorder, remote, link } = await linkTo(
      linkSetup,
      [[WAIT, ...steps], [WAIT]],
      options,
    )
    link.send(request(1, 'initialize'))
    assert.equal(await recorder.count(1), [GONE + reason])
    link.send(request(2))
    link.close()
    await allClosed(backend, remote)
    assert.is(recorder.recorded.length, 1)
  }
})

legacy('reports a rejected message and stays open', async () => {
  const posts: Step[] = [WAIT, answer('413 Too Large', '', 'x'), WAIT, { reset: true }]
  const { recorder, link } = await linkTo(
    linkSetup,
    [stream('/m', event(result(4))), posts, TAKES],
    SSE,
  )
  link.send(request(2))
  assert.equal(await recorder.count(1), ["failed 2: target 'x' answered 413"])
  assert.is(contentOf(recorder.replies[0]!), 'x')
})

legacy('fails a request whose answer on the stream is invalid, and stays open', async () => {
  const script = stream('/m', event('{"id":1,"result":{}}') + event(PROGRESS))
  const { backend, recorder, link } = await linkTo(linkSetup, [script, TAKES], SSE)
  link.send(request(1, 'initialize'))
  await backend.until((text) => text.includes('"id":1'))
  backend.release()
  assert.equal(await recorder.count(2), [
    `failed 1: target 'x' sent an invalid response: not a JSON-RPC message: expected "jsonrpc": "2.0"`,
    `0: ${PROGRESS}`,
  ])
})

legacy('bounds the messages that wait for the endpoint', async () => {
  const { backend, recorder, remote, link } = await linkTo(
    linkSetup,
    [[WAIT, { send: EVENTS }]],
    SSE,
  )
  for (let number = 1; number <= 1_025; number++) link.send(request(number))
  assert.equal(recorder.recorded, [])
  assert.equal(await recorder.count(1), ["failed 1025: target 'x' has too many messages in flight"])
  link.close()
  await recorder.count(2)
  await allClosed(backend, remote)
})

legacy('forgets messages, and pauses', async () => {
  const { backend, recorder, link } = await linkTo(
    linkSetup,
    [stream('/m', event(PROGRESS)), [WAIT]],
    SSE,
  )
  link.send(request(1, 'initialize'))
  link.send(request(2))
  link.forgetRequest(2)
  await backend.until((text) => text.includes('"id":1'))
  link.pause()
  backend.release()
  link.forgetRequest(1)
  await backend.connections[1]!.untilClosed()
  assert.equal(recorder.recorded, [])
  link.resume()
  assert.equal(await recorder.count(1), [`0: ${PROGRESS}`])
  assert.not.match(backend.received, '"id":2')
})

legacy.run()
