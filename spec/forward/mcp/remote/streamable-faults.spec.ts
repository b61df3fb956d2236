// Streamable HTTP targets that refuse, disconnect, forget their sessions or send too much.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StreamableLink } from '../../../../lib/forward/mcp/remote/streamable-link.ts'
import type { Step } from '../../../support/backend.ts'
import { contentOf } from '../../../support/exchange-of.ts'
import { Stage } from '../../../support/gateway.ts'
import {
  ACCEPTED,
  CHUNKED_EVENTS,
  EVENTS,
  INITIALIZED,
  PROGRESS,
  WAIT,
  WELCOME,
  allClosed,
  answer,
  event,
  requestsAt,
  json,
  linkTo,
  notification,
  request,
  result,
} from './link-stage.ts'
import type { RemoteOptions } from './link-stage.ts'

const faults = suite('forward/mcp/remote/streamable-faults')
const stage = new Stage()
faults.after.each(() => stage.clear())

const linkSetup = { stage, Link: StreamableLink }

/** The event of a link for one request with this response. */
async function recordOutcome(steps: Step[], options: RemoteOptions = {}): Promise<string> {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [[WAIT, ...steps]], options)
  link.send(request(7))
  await recorder.count(1)
  link.close()
  await allClosed(backend, remote)
  assert.is((await recorder.count(2))[1], "closed: the link to target 'x' was closed")
  return recorder.recorded[0]!
}

faults('delivers the HTTP error that the target sent instead of an answer', async () => {
  const { recorder, link } = await linkTo(linkSetup, [
    [WAIT, answer('401 Unauthorized', 'www-authenticate: Bearer', 'no token')],
  ])
  link.send(request(7))
  assert.equal(await recorder.count(1), ["failed 7: target 'x' answered 401"])
  const [reply] = recorder.replies
  assert.is(reply!.head.get('www-authenticate'), 'Bearer')
  assert.is(contentOf(reply!), 'no token')
})

faults('follows no redirect', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [WAIT, answer('307 Temporary Redirect', 'location: /other')],
  ])
  link.send(request(7))
  assert.equal(await recorder.count(1), ["failed 7: target 'x' answered 307"])
  assert.equal(requestsAt(backend), ['POST /mcp'])
})

faults('ignores a refused notification, and reuses its connection', async () => {
  const { backend, recorder, link } = await linkTo(
    linkSetup,
    [[WAIT, answer('500 Oops', '', 'sorry'), WAIT, json(result(7))]],
    { poolMaxSize: 1 },
  )
  link.send(notification('notifications/cancelled'))
  await backend.until((text) => text.includes('cancelled'))
  link.send(request(7))
  assert.equal(await recorder.count(1), [`7: ${result(7)}`])
})

faults('reports why a response is invalid', async () => {
  const type = 'content-type: application/json'
  const cases: [string, Step[]][] = [
    ['sent an invalid response: not valid JSON', [json('{"jsonrpc"')]],
    ['sent an invalid response: not a JSON-RPC message: expected "jsonrpc": "2.0"', [json('{}')]],
    ['sent no answer to the request', [json('[]')]],
    [
      'answered 200 with neither plain JSON nor an event stream',
      [answer('200 OK', `${type}\r\ncontent-encoding: gzip`, 'x')],
    ],
    [
      'answered 200 with neither plain JSON nor an event stream',
      [answer('200 OK', 'content-type: text/html', '<html>')],
    ],
    ['answered 202 with neither plain JSON nor an event stream', [ACCEPTED]],
    [
      'closed the connection in the middle of its answer',
      [{ send: `HTTP/1.1 200 OK\r\n${type}\r\ncontent-length: 9\r\n\r\n{` }, { reset: true }],
    ],
    ['failed: upstream call failed: connection reset', [{ reset: true }]],
    ['failed: upstream call failed: connection closed', [{ close: true }]],
    ['ended its event stream', [{ send: EVENTS }, { close: true }]],
  ]
  for (const [failure, steps] of cases)
    assert.is(await recordOutcome(steps), `failed 7: target 'x' ${failure}`)
})

faults('delivers the messages before a cut of the stream, then the failure', async () => {
  const content = event(PROGRESS) + 'data: {"jsonrpc"'
  const { recorder, link } = await linkTo(linkSetup, [
    [
      WAIT,
      { send: `${CHUNKED_EVENTS}${content.length.toString(16)}\r\n${content}\r\n` },
      { close: true },
    ],
  ])
  link.send(request(7))
  assert.equal(await recorder.count(2), [
    `7: ${PROGRESS}`,
    "failed 7: target 'x' lost the connection of its event stream",
  ])
})

faults('ends a stream that is silent for too long', async () => {
  assert.is(
    await recordOutcome([{ send: EVENTS }], { bodyIdleTimeout: 50 }),
    "failed 7: target 'x' was silent on its event stream for too long (config.backend.bodyIdleTimeout)",
  )
})

faults('bounds a message in JSON and in events', async () => {
  const long = result(7, `"${'x'.repeat(2000)}"`)
  const outcome =
    "failed 7: target 'x' sent a message above the limit of 1000 bytes (config.mcp.maxMessageBytes)"
  const fields = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n'
  const cases: Step[][] = [
    [json(long)],
    [{ send: fields + long.slice(0, 1500) }],
    [{ send: EVENTS + event(long) }],
    [{ send: EVENTS + event(long, '1').slice(0, 1500) }],
  ]
  for (const steps of cases)
    assert.is(await recordOutcome(steps, { maxMessageBytes: 1000 }), outcome)
  const fits = result(7, `"${'x'.repeat(500)}"`)
  assert.is(await recordOutcome([json(fits)], { maxMessageBytes: 1000 }), `7: ${fits}`)
  assert.is(
    await recordOutcome([{ send: EVENTS + event(fits) }], { maxMessageBytes: 1000 }),
    `7: ${fits}`,
  )
})

faults('fails a request whose answer in an open event stream is invalid', async () => {
  const { recorder, link } = await linkTo(linkSetup, [
    [WAIT, { send: EVENTS + event('{"jsonrpc":"2.0","id":7}') }],
  ])
  link.send(request(7))
  assert.equal(await recorder.count(1), [
    "failed 7: target 'x' sent an invalid response: not a JSON-RPC message: expected a method, a result or an error",
  ])
})

faults('skips events that are not messages', async () => {
  const stream = 'data: \n\nevent: other\ndata: 1\n\ndata: {}\n\n'
  const outcome = await recordOutcome([{ send: EVENTS + stream + event(result(7)) }])
  assert.is(outcome, `7: ${result(7)}`)
})

faults('resumes an answer that broke after an event with an id', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [WAIT, { send: `${EVENTS}retry: 0\nid: a 1\ndata:\n\n` }, { close: true }],
    [WAIT, { send: EVENTS + event(PROGRESS, 'a2') }, { reset: true }],
    [WAIT, answer('503 Busy', ''), WAIT, { send: EVENTS + event(result(7)) }, { close: true }],
  ])
  link.send(request(7, 'tools/call', [['x-user', 'ann']]))
  assert.equal(await recorder.count(2), [`7: ${PROGRESS}`, `7: ${result(7)}`])
  assert.equal(requestsAt(backend, 'x-user', 'last-event-id', 'accept'), [
    'POST /mcp x-user: ann accept: application/json, text/event-stream',
    'GET /mcp x-user: ann last-event-id: a 1 accept: text/event-stream',
    'GET /mcp x-user: ann last-event-id: a2 accept: text/event-stream',
    'GET /mcp x-user: ann last-event-id: a2 accept: text/event-stream',
  ])
  await allClosed(backend, remote)
})

faults('fails an answer that cannot be resumed', async () => {
  const broken: Step[] = [
    WAIT,
    { send: `${EVENTS}retry: 0\n${event(PROGRESS, '1')}` },
    { close: true },
  ]
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    broken,
    [WAIT, answer('405 No', '')],
  ])
  link.send(request(7))
  assert.equal(
    (await recorder.count(2))[1],
    "failed 7: target 'x' answered 405 to a request for its event stream",
  )
  link.close()
  await allClosed(backend, remote)
})

faults('does not resume with an id that is not a valid header value', async () => {
  const outcome = await recordOutcome([
    { send: `${EVENTS}retry: 0\nid: \xfc\ndata:\n\n` },
    { close: true },
  ])
  assert.is(outcome, "failed 7: target 'x' ended its event stream")
})

faults('forgets an answer that waits to be resumed', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [WAIT, { send: `${EVENTS}retry: 0\n${event(PROGRESS, '1')}` }, { close: true }],
    [WAIT, json(result(8))],
  ])
  link.send(request(7))
  await recorder.count(1)
  await allClosed(backend, remote)
  link.forgetRequest(7)
  link.send(request(8))
  await recorder.count(2)
  assert.equal(requestsAt(backend), ['POST /mcp', 'POST /mcp'])
})

faults('reports an expired session, and starts another', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [
      ...[WAIT, WELCOME, WAIT, ACCEPTED, WAIT, answer('404 Not Found', '', 'gone')],
      ...[WAIT, json(result(3, '{"protocolVersion":"2025-03-26"}'), '\r\nmcp-session-id: s2')],
      ...[WAIT, ACCEPTED, WAIT, json(result(4))],
    ],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  recorder.on = (what) => {
    if (what === 'expired 2') link.send(request(3, 'initialize'))
  }
  link.send(request(2))
  await recorder.count(3)
  link.send(INITIALIZED)
  link.send(request(4))
  await recorder.count(4)
  assert.equal(recorder.recorded.slice(1, 2), ['expired 2'])
  assert.equal(requestsAt(backend, 'mcp-session-id', 'mcp-protocol-version'), [
    'POST /mcp',
    'POST /mcp mcp-session-id: s1 mcp-protocol-version: 2025-06-18',
    'POST /mcp mcp-session-id: s1 mcp-protocol-version: 2025-06-18',
    'POST /mcp',
    'POST /mcp mcp-session-id: s2 mcp-protocol-version: 2025-03-26',
    'POST /mcp mcp-session-id: s2 mcp-protocol-version: 2025-03-26',
  ])
})

faults('sends a request of an expired session again to the new one', async () => {
  const gone = answer('404 Not Found', '')
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [WAIT, WELCOME, WAIT, ACCEPTED, WAIT, { hold: true }, gone, WAIT, json(result(5))],
    [WAIT, gone, WAIT, json(result(4, '{}'), '\r\nmcp-session-id: s2'), WAIT, ACCEPTED],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(5))
  await backend.until((text) => text.includes('"id":5'))
  link.send(request(3))
  await recorder.count(2)
  link.send(request(4, 'initialize'))
  await recorder.count(3)
  link.send(INITIALIZED)
  await backend.until((text) => text.split('initialized').length === 3)
  backend.release()
  assert.is((await recorder.count(4))[3], `5: ${result(5)}`)
  assert.equal(recorder.recorded[1], 'expired 3')
})

faults('treats a 404 without a session as an error', async () => {
  assert.is(await recordOutcome([answer('404 Not Found', '')]), "failed 7: target 'x' answered 404")
})

faults('leaves it to the next request to report an expired session', async () => {
  const gone = answer('404 Not Found', '')
  const { backend, recorder, link } = await linkTo(
    linkSetup,
    [[WAIT, WELCOME, WAIT, ACCEPTED, WAIT, gone, WAIT, gone]],
    { poolMaxSize: 1 },
  )
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(notification('notifications/cancelled'))
  await backend.until((text) => text.includes('cancelled'))
  link.send(request(2))
  assert.is((await recorder.count(2))[1], 'expired 2')
})

faults('bounds the messages that wait for the handshake, and all in flight', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [[WAIT]], { poolMaxSize: 1 })
  for (let number = 1; number <= 1024; number++) link.send(request(number))
  link.send(request(1025))
  link.send(notification('notifications/cancelled'))
  assert.equal(recorder.recorded, [])
  assert.equal(await recorder.count(1), ["failed 1025: target 'x' has too many messages in flight"])
  link.forgetRequest(5)
  link.forgetRequest(6)
  link.send(request(1026))
  link.close()
  await recorder.count(2)
  await allClosed(backend, remote)
  assert.is(recorder.recorded.length, 2)
})

faults.run()
