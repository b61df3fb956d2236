import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Link } from '../../../lib/base/processes/link.ts'
import { deadline } from '../../support/deadline.ts'

const test = suite('base/processes/link')

const soon = <T>(work: Promise<T>): Promise<T> => deadline(work, 30_000, 'an answer')

/** Two ends, each message through JSON as on a channel of Node. */
function pair(): [Link, Link] {
  const ends: Link[] = []
  const to = (end: number) => (message: object) => {
    const text = JSON.stringify(message)
    queueMicrotask(() => ends[end]?.hear(JSON.parse(text)))
  }
  ends.push(new Link(to(1)), new Link(to(0)))
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
  assert.is(await soon(here.ask('double', 21)), 42)
  assert.equal(await soon(here.ask('later', 'x')), ['x'])
})

test('a notice is heard and not answered', async () => {
  const [here, there] = pair()
  const heard = new Promise((resolve) => there.on('note', resolve))
  here.tell('note', { a: 1 })
  assert.equal(await soon(heard), { a: 1 })
})

test('a handler that fails tells why, and so does a kind that nobody knows', async () => {
  const [here, there] = pair()
  there.on('fail', () => {
    throw new Error('no room')
  })
  assert.is(await failureOf(here.ask('fail', null)), 'no room')
  assert.is(await failureOf(here.ask('else', null)), 'nobody here knows else')
})

test('a notice that fails is a fault of the process that heard it', async () => {
  const [here, there] = pair()
  const fault = new Error('no room')
  there.on('note', () => {
    throw fault
  })
  const uncaught = new Promise((resolve) => process.once('unhandledRejection', resolve))
  here.tell('note', null)
  here.tell('nobody knows it', null)
  assert.is(await soon(uncaught), fault)
})

test('a question that nobody answers is over at its deadline', async () => {
  const here = new Link(() => {})
  assert.is(await failureOf(here.ask('quiet', null, 1)), 'quiet: no answer after 1 ms')
})

test('who waits when the other side goes is told', async () => {
  const here = new Link(() => {})
  const asked = failureOf(here.ask('quiet', null))
  here.close()
  assert.is(await asked, 'the other process is gone')
  assert.is(await failureOf(here.ask('quiet', null)), 'quiet: the link is closed')
})

test('rubbish on the channel is passed over', () => {
  const here = new Link(() => assert.unreachable('it answered'))
  for (const message of [null, 1, 'x', {}, { number: 7, body: 1 }]) here.hear(message)
})

test.run()
