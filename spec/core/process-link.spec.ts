import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessLink } from '../../lib/core/process-link.ts'
import { deadline } from '../support/deadline.ts'

const test = suite('process link')

const soon = <T>(work: Promise<T>): Promise<T> => deadline(work, 30_000, 'a response')

/** Two linked ends; each message is serialised as on Node's channel. */
function pair(): [ProcessLink, ProcessLink] {
  const ends: ProcessLink[] = []
  const to = (end: number) => (message: object) => {
    const text = JSON.stringify(message)
    queueMicrotask(() => ends[end]?.receive(JSON.parse(text)))
  }
  ends.push(new ProcessLink(to(1)), new ProcessLink(to(0)))
  return [ends[0]!, ends[1]!]
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await soon(work)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it did not fail')
}

test('a request gets what its handler returns or promises', async () => {
  const [here, there] = pair()
  there.on('double', (body) => (body as number) * 2)
  there.on('later', (body) => Promise.resolve([body]))
  assert.is(await soon(here.request('double', 21)), 42)
  assert.equal(await soon(here.request('later', 'x')), ['x'])
})

test('a notification is handled and gets no response', async () => {
  const [here, there] = pair()
  const received = new Promise((resolve) => there.on('note', resolve))
  here.notify('note', { a: 1 })
  assert.equal(await soon(received), { a: 1 })
})

test('a failing handler and an unknown kind are reported to the sender', async () => {
  const [here, there] = pair()
  there.on('fail', () => {
    throw new Error('no room')
  })
  assert.is(await failureOf(here.request('fail', null)), 'no room')
  assert.is(await failureOf(here.request('else', null)), 'unknown message kind: else')
})

test('a failing handler of a notification is an error of its process', async () => {
  const [here, there] = pair()
  const fault = new Error('no room')
  there.on('note', () => {
    throw fault
  })
  const uncaught = new Promise((resolve) => process.once('unhandledRejection', resolve))
  here.notify('note', null)
  here.notify('unknown', null)
  assert.is(await soon(uncaught), fault)
})

test('a request without a response fails at its deadline', async () => {
  const here = new ProcessLink(() => {})
  assert.is(await failureOf(here.request('quiet', null, 1)), 'quiet: no answer after 1 ms')
})

test('pending requests fail when the other process disconnects', async () => {
  const here = new ProcessLink(() => {})
  const failure = failureOf(here.request('quiet', null))
  here.close()
  assert.is(await failure, 'the other process disconnected')
  assert.is(await failureOf(here.request('quiet', null)), 'quiet: the link is closed')
})

test('invalid messages on the channel are ignored', () => {
  const here = new ProcessLink(() => assert.unreachable('it answered'))
  for (const message of [null, 1, 'x', {}, { number: 7, body: 1 }]) here.receive(message)
})

test.run()
