// The stand-alone stream of a Streamable HTTP target, and slow readers.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StreamableLink } from '../../../../lib/forward/mcp/remote/streamable-link.ts'
import type { Step } from '../../../support/backend.ts'
import { deadline } from '../../../support/deadline.ts'
import { Stage } from '../../../support/gateway.ts'
import {
  ACCEPTED,
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
  request,
  result,
} from './link-stage.ts'
import type { LinkRecorder } from './link-stage.ts'

const listening = suite('forward/mcp/remote/listening')
const stage = new Stage()
listening.after.each(() => stage.clear())

const linkSetup = { stage, Link: StreamableLink }
const HELLO: Step[] = [WAIT, WELCOME, WAIT, ACCEPTED]
const RETRY = 'retry: 0\n\n'

async function begin(link: StreamableLink, recorder: LinkRecorder): Promise<void> {
  link.send(request(1, 'initialize'))
  await recorder.count(1)
  link.listen([['authorization', 'a']])
  link.send(INITIALIZED)
  recorder.recorded.length = 0
}

listening('opens the stream once the session has started', async () => {
  const { backend, recorder, remote, link } = await linkTo(linkSetup, [
    [...HELLO, WAIT, { send: EVENTS + event(PROGRESS) }],
  ])
  await begin(link, recorder)
  assert.equal(await recorder.count(1), [`0: ${PROGRESS}`])
  link.listen([])
  const names = ['authorization', 'mcp-session-id', 'mcp-protocol-version', 'accept']
  assert.equal(requestsAt(backend, ...names).slice(2), [
    'GET /mcp authorization: a mcp-session-id: s1 mcp-protocol-version: 2025-06-18 accept: text/event-stream',
  ])
  link.close()
  await allClosed(backend, remote)
})

listening('reopens a broken stream after the last event', async () => {
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [...HELLO, WAIT, { send: EVENTS + RETRY + event(PROGRESS, 'e1') }, { close: true }],
    [WAIT, answer('409 Conflict', ''), WAIT, { send: EVENTS + RETRY }, { reset: true }],
    [WAIT, { send: EVENTS + event(PROGRESS) }],
  ])
  await begin(link, recorder)
  await recorder.count(2)
  const id = 'GET /mcp last-event-id: e1'
  assert.equal(requestsAt(backend, 'last-event-id').slice(2), ['GET /mcp', id, id, id])
})

listening('accepts a target without a stand-alone stream', async () => {
  for (const status of ['405 Method Not Allowed', '404 Not Found', '401 Unauthorized']) {
    const { backend, recorder, remote, link } = await linkTo(
      linkSetup,
      [[...HELLO, WAIT, answer(status, ''), WAIT, json(result(2)), WAIT, ACCEPTED]],
      { poolMaxSize: 1 },
    )
    await begin(link, recorder)
    await backend.until((text) => text.includes('GET /mcp'))
    link.send(request(2))
    assert.equal(await recorder.count(1), [`2: ${result(2)}`])
    link.close()
    await backend.until((text) => text.includes('DELETE'))
    await allClosed(backend, remote)
    assert.is(requestsAt(backend).filter((line) => line.startsWith('GET')).length, 1)
  }
})

listening('stops reopening a stream without messages', async () => {
  const empty: Step[] = [WAIT, { send: EVENTS + RETRY }, { close: true }]
  const { backend, recorder, link } = await linkTo(linkSetup, [[...HELLO, ...empty], empty])
  await begin(link, recorder)
  await backend.until((text) => text.split('GET /mcp').length === 34, 10_000)
  for (const connection of backend.connections) await connection.untilClosed()
  link.listen([])
  await backend.until((text) => text.split('GET /mcp').length === 35)
})

listening('reopens without an event id after an event that was too long', async () => {
  const long = event(result(2, `"${'x'.repeat(2000)}"`), 'e2')
  const first = EVENTS + RETRY + event(PROGRESS, 'e1') + long
  const { backend, recorder, link } = await linkTo(
    linkSetup,
    [
      [...HELLO, WAIT, { send: first }],
      [WAIT, { send: EVENTS + event(PROGRESS) }],
    ],
    { maxMessageBytes: 1000 },
  )
  await begin(link, recorder)
  assert.equal(await recorder.count(2), [`0: ${PROGRESS}`, `0: ${PROGRESS}`])
  assert.equal(requestsAt(backend, 'last-event-id').slice(2), ['GET /mcp', 'GET /mcp'])
})

listening('opens the stream of a new session when the old one expired', async () => {
  const again = json(result(3, '{}'), '\r\nmcp-session-id: s2')
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [...HELLO, WAIT, { send: EVENTS }],
    [WAIT, answer('404 Not Found', ''), WAIT, again, WAIT, ACCEPTED, WAIT, { send: EVENTS }],
  ])
  await begin(link, recorder)
  await backend.until((text) => text.includes('GET /mcp'))
  link.send(request(2))
  await recorder.count(1)
  await backend.connections[0]!.untilClosed()
  link.send(request(3, 'initialize'))
  await recorder.count(2)
  link.send(INITIALIZED)
  await backend.until((text) => text.split('GET /mcp').length === 3)
  assert.equal(
    requestsAt(backend, 'mcp-session-id').filter((line) => line.startsWith('GET')),
    ['GET /mcp mcp-session-id: s1', 'GET /mcp mcp-session-id: s2'],
  )
})

listening('stops reading while it is paused, and delivers nothing inside a call', async () => {
  const burst = Buffer.from(event(PROGRESS.replace('}', `,"x":"${'x'.repeat(8000)}"}`)).repeat(20))
  const { backend, recorder, link } = await linkTo(linkSetup, [
    [
      WAIT,
      { send: EVENTS },
      { hold: true },
      ...Array.from({ length: 120 }, () => ({ send: burst })),
    ],
    [WAIT, { hold: true }, json(result(3)), WAIT],
  ])
  link.send(request(2))
  await backend.until((text) => text.includes('"id":2'))
  link.send(request(3))
  await backend.until((text) => text.includes('"id":3'))
  const { socket } = backend.connections[0]!
  link.pause()
  backend.release()
  backend.release()
  // All of it is written, or as much as the two kernels buffer.
  await deadline(
    stalled(() => socket.writableLength),
    30_000,
    'the backend to stall',
  )
  const waiting = socket.writableLength
  assert.ok(waiting > 1_000_000, `${waiting} bytes wait`)
  assert.equal(recorder.recorded, [])
  link.resume()
  assert.equal(recorder.recorded, [])
  await recorder.count(2401)
  assert.is(recorder.recorded.filter((what) => what === `3: ${result(3)}`).length, 1)
})

listening('stops resuming when the owner pauses again', async () => {
  const stream: Step[] = [WAIT, { send: EVENTS + event(PROGRESS) }]
  const refusal: Step[] = [WAIT, answer('500 No', ''), { again: true }]
  const { backend, recorder, link } = await linkTo(linkSetup, [stream, stream, refusal])
  link.pause()
  for (const number of [2, 3]) {
    link.send(request(number))
    await backend.until((text) => text.includes(`"id":${number}`))
  }
  // Refusals are always delivered: by then the streams have arrived, too.
  for (const number of [4, 5]) {
    link.send(request(number))
    await recorder.count(number - 3)
  }
  recorder.recorded.length = 0
  recorder.on = () => link.pause()
  link.resume()
  assert.equal(await recorder.count(1), [`2: ${PROGRESS}`])
  link.resume()
  assert.equal(await recorder.count(2), [`2: ${PROGRESS}`, `3: ${PROGRESS}`])
})

/** Waits until a number no longer changes. */
async function stalled(value: () => number): Promise<void> {
  for (let same = 0, last = -1; same < 5; same = value() === last ? same + 1 : 0) {
    last = value()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

listening.run()
