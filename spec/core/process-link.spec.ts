import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProcessLink } from '../../lib/core/process-link.ts'
import { deadline } from '../support/deadline.ts'

const test = suite('base/processes/link')

const soon = <T>(work: Promise<T>): Promise<T> => deadline(work, 30_000, 'an answer')

/** Two ends, each message through JSON as on a channel of Node. */
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

test('a question gets what its handler returns or promises', async () => {
  const [here, there] = pair()
  there.on('double', (body) => (body as number) * 2)
  there.on('later', (body) => Promise.resolve([body]))
  assert.is(await soon(here.request('double', 21)), 42)
  assert.equal(await soon(here.request('later', 'x')), ['x'])
})

test('a notice is heard and not answered', async () => {
  const [here, there] = pair()
  const heard = new Promise((resolve) => there.on('note', resolve))
  here.notify('note', { a: 1 })
  assert.equal(await soon(heard), { a: 1 })
})

test('a handler that fails tells why, and so does a kind that nobody knows', async () => {
  const [here, there] = pair()
  there.on('fail', () => {
    throw new Error('no room')
  })
  assert.is(await failureOf(here.request('fail', null)), 'no room')
  assert.is(await failureOf(here.request('else', null)), 'unknown message kind: else')
})

test('a notice that fails is a fault of the process that heard it', async () => {
  const [here, there] = pair()
  const fault = new Error('no room')
  there.on('note', () => {
    throw fault
  })
  const uncaught = new Promise((resolve) => process.once('unhandledRejection', resolve))
  here.notify('note', null)
  here.notify('nobody knows it', null)
  assert.is(await soon(uncaught), fault)
})

test('a question that nobody answers is over at its deadline', async () => {
  const here = new ProcessLink(() => {})
  assert.is(await failureOf(here.request('quiet', null, 1)), 'quiet: no answer after 1 ms')
})

test('who waits when the other side goes is told', async () => {
  const here = new ProcessLink(() => {})
  const asked = failureOf(here.request('quiet', null))
  here.close()
  assert.is(await asked, 'the other process disconnected')
  assert.is(await failureOf(here.request('quiet', null)), 'quiet: the link is closed')
})

test('rubbish on the channel is passed over', () => {
  const here = new ProcessLink(() => assert.unreachable('it answered'))
  for (const message of [null, 1, 'x', {}, { number: 7, body: 1 }]) here.receive(message)
})

test.run()
