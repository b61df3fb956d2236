import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Secret } from '../../../../lib/text/secret.ts'
import { StreamableLink } from '../../../../lib/forward/mcp/remote/streamable-link.ts'
import type { Step } from '../../../support/backend.ts'
import { Stage } from '../../../support/gateway.ts'
import { splits } from '../../../support/splits.ts'
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
  events,
  requestsAt,
  json,
  linkTo,
  notification,
  request,
  result,
} from './link-stage.ts'

const streamable = suite('forward/mcp/remote/streamable')
const stage = new Stage()
streamable.after.each(() => stage.clear())

const linkSetup = { stage, Link: StreamableLink }

const HELLO: Step[] = [WAIT, WELCOME, WAIT, ACCEPTED]

streamable('posts a message and delivers the JSON answer', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [[WAIT, json(result(7, '{"a":1}'))]])
  link.send(request(7, 'ping', [['x-user', 'ann']]))
  assert.equal(await recorder.count(1), [`7: ${result(7, '{"a":1}')}`])
  const body = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
  assert.is(
    backend.received,
    `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${backend.port}\r\nx-user: ann\r\n` +
      'content-type: application/json\r\naccept: application/json, text/event-stream\r\n' +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
})

streamable('delivers each message of a batch', async () => {
  const { recorder, link } = await linkTo(linkSetup, [[WAIT, json(`[${PROGRESS}, ${result(7)}]`)]])
  link.send(request(7))
  assert.equal(await recorder.count(2), [`7: ${PROGRESS}`, `7: ${result(7)}`])
})

streamable('reads JSON and events at every split', async () => {
  const answerText = result(7, '"ä"')
  const stream = Buffer.from(`: hello\n\n${event(PROGRESS)}${event(answerText)}`)
  const apart = (content: Buffer): string =>
    `${content.length.toString(16)}\r\n${content.toString('latin1')}\r\n`
  const chunked = apart(stream.subarray(0, 40)) + apart(stream.subarray(40))
  const answers = [
    json(answerText).send,
    Buffer.from(`${CHUNKED_EVENTS}${chunked}0\r\n\r\n`, 'latin1'),
  ]
  for (const bytes of answers) {
    const all = [...splits(bytes)]
    const script = all.flatMap((chunks): Step[] => [WAIT, { sendApart: chunks }])
    const { recorder, link } = await linkTo(linkSetup, [script])
    for (const _chunks of all) {
      link.send(request(7))
      const expectedCount = bytes === answers[0] ? 1 : 2
      assert.is((await recorder.count(expectedCount)).at(-1), `7: ${answerText}`)
      recorder.recorded.length = 0
    }
  }
})

streamable('sends initialize, initialized and other messages in this order', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [WAIT, WELCOME, WAIT, { hold: true }, ACCEPTED, WAIT, json(result(2)), WAIT, json(result(3))],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(2))
  await backend.until((text) => text.includes('initialized'))
  assert.not.match(backend.received, '"id":2')
  backend.release()
  await recorder.count(2)
  link.send(request(3))
  await recorder.count(3)
  const session = 'mcp-session-id: s1 mcp-protocol-version: 2025-06-18'
  assert.equal(requestsAt(backend, 'mcp-session-id', 'mcp-protocol-version'), [
    'POST /mcp',
    `POST /mcp ${session}`,
    `POST /mcp ${session}`,
    `POST /mcp ${session}`,
  ])
})

streamable('continues when the notification is rejected', async () => {
  const { recorder, link } = await linkTo(linkSetup, [
    [WAIT, WELCOME, WAIT, answer('400 Bad Request', ''), WAIT, json(result(2))],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(2))
  assert.is((await recorder.count(2))[1], `2: ${result(2)}`)
})

streamable('does not use an invalid version as a header', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [WAIT, json(result(1, '{"protocolVersion":"1\\r\\nx-evil: 1"}')), WAIT, ACCEPTED],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  await backend.until((text) => text.includes('initialized'))
  assert.not.match(backend.received, 'evil')
  assert.not.match(backend.received, 'mcp-protocol-version')
})

streamable(
  'applies the policies of the target, which cannot override its own headers',
  async () => {
    const { backend, recorder, link } = await linkTo(linkSetup, [[WAIT, json(result(1))]], {
      path: '/a?b=c',
      auth: { kind: 'header', name: 'Authorization', prefix: 'Bearer ', key: new Secret('key') },
      requestHeaderModifier: {
        add: [['x-b', '2']],
        set: [
          ['x-a', '2'],
          ['content-type', 'text/plain'],
        ],
        remove: ['x-c'],
      },
    })
    const fields = [
      ['x-a', '1'],
      ['x-b', '1'],
      ['x-c', '1'],
      ['authorization', 'Bearer client'],
    ] as const
    link.send(request(1, 'ping', fields))
    await recorder.count(1)
    const names = ['x-a', 'x-b', 'x-c', 'authorization', 'content-type']
    assert.equal(requestsAt(backend, ...names), [
      'POST /a?b=c x-a: 2 x-b: 1 x-b: 2 authorization: Bearer key content-type: application/json',
    ])
  },
)

streamable('adds a credential to the query, or forwards that of the client', async () => {
  const auths = [
    { kind: 'query', name: 'api key', key: new Secret('a&b') },
    { kind: 'passthrough' },
  ] as const
  const heard = ['POST /mcp?api%20key=a%26b authorization: a', 'POST /mcp authorization: a']
  for (const [at, auth] of auths.entries()) {
    const { backend, recorder, link } = await linkTo(linkSetup, [[WAIT, json(result(1))]], { auth })
    link.send(request(1, 'ping', [['authorization', 'a']]))
    await recorder.count(1)
    assert.equal(requestsAt(backend, 'authorization'), [heard[at]!])
  }
})

streamable('reuses connections, also after event streams and notifications', async () => {
  const chunked = 'HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [WAIT, WELCOME, WAIT, { send: chunked }, WAIT, events(event(result(2))), WAIT, json(result(3))],
  ])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(2))
  await recorder.count(2)
  link.send(request(3))
  await recorder.count(3)
  assert.is(backend.connections.length, 1)
})

streamable('ends a stream that stays open after its answer', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [WAIT, { send: EVENTS + event(result(2)) }],
  ])
  link.send(request(2))
  await recorder.count(1)
  await allClosed(backend, remote)
  assert.is(recorder.recorded.length, 1)
})

streamable('drops a request together with its connection', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [WAIT, { send: EVENTS + event(PROGRESS) }, { hold: true }, { send: event(result(2)) }],
    [WAIT, json(result(3))],
  ])
  link.send(request(2))
  await recorder.count(1)
  link.forgetRequest(2)
  await allClosed(backend, remote)
  link.send(request(3))
  assert.equal(await recorder.count(2), [`2: ${PROGRESS}`, `3: ${result(3)}`])
})

streamable('carries many requests at once, each answer with its own number', async () => {
  const slow: Step[] = [WAIT, { hold: true }, events(event(PROGRESS), event(result(1)))]
  const { backend, recorder, link } = await linkTo(linkSetup, [slow, [WAIT, json(result(2))]])
  link.send(request(1))
  await backend.until((text) => text.includes('"id":1'))
  link.send(request(2))
  await recorder.count(1)
  backend.release()
  assert.equal(await recorder.count(3), [`2: ${result(2)}`, `1: ${PROGRESS}`, `1: ${result(1)}`])
})

streamable('deletes the session and leaves nothing open', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [HELLO, [WAIT, ACCEPTED]])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.send(INITIALIZED)
  link.send(request(2, 'tools/call', [['authorization', 'a']]))
  await backend.until((text) => text.includes('"id":2'))
  link.close()
  assert.is(recorder.recorded.length, 1)
  assert.equal((await recorder.count(2))[1], "closed: the link to target 'x' was closed")
  link.close()
  link.send(request(3))
  await backend.until((text) => text.includes('DELETE'))
  const farewell = requestsAt(backend, 'mcp-session-id', 'authorization').at(-1)
  assert.is(farewell, 'DELETE /mcp mcp-session-id: s1 authorization: a')
  await backend.connections[0]!.untilClosed()
  assert.is(recorder.recorded.length, 2)
})

streamable('sends no DELETE without a session', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [[WAIT, json(result(1))]])
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.close()
  await recorder.count(2)
  assert.equal(requestsAt(backend), ['POST /mcp'])
})

streamable('ignores the response to a notification', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [WAIT, { send: EVENTS + event(PROGRESS) }],
    [WAIT, json(PROGRESS)],
    [WAIT, json(result(2))],
  ])
  link.send(notification('notifications/cancelled'))
  await backend.until((text) => text.includes('cancelled'))
  await allClosed(backend, remote)
  link.send(notification('notifications/cancelled'))
  link.send(request(2))
  assert.equal(await recorder.count(1), [`2: ${result(2)}`])
})

streamable.run()
