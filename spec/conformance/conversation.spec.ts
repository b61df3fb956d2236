import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Conversation } from '../../conformance/conversation.ts'
import type { Kept } from '../../conformance/placeholders.ts'
import { Backend } from '../support/backend.ts'
import type { Step } from '../support/backend.ts'
import { deadline } from '../support/deadline.ts'

const WAIT_MS = 30_000

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const REQUEST = 'GET / HTTP/1.1\nhost: a'

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

/** Says what is wrong with each answer of a server that sends these steps. */
async function judge(steps: Step[], blocks: string[], kept: Kept = new Map()): Promise<string[][]> {
  const server = await Backend.start([{ wait: /\r\n\r\n/ }, ...steps])
  const target = { port: server.port, host: '127.0.0.1' }
  const nothing = (): Promise<void> => Promise.resolve()
  const around = {
    target,
    release: () => server.release(),
    signal: () => {},
    waitForText: nothing,
    waitForClosedBackends: nothing,
  }
  const conversation = new Conversation(around, kept)
  try {
    await deadline(conversation.request(REQUEST), WAIT_MS, 'the request')
    const wrong: string[][] = []
    for (const block of blocks)
      wrong.push(await deadline(conversation.response(block), WAIT_MS, 'the answer'))
    return wrong
  } finally {
    conversation.close()
    await server.close()
  }
}

const conversation = suite('conversation')

conversation('reads an open stream event by event, at every split', async () => {
  const steps: Step[] = [
    { send: HEAD + chunk('data: 1\n') },
    { send: chunk('\nda') },
    { hold: true },
    { send: chunk('ta: 2\n\ndata: 3\n\n') + '0\r\n\r\n' },
  ]
  const head = 'HTTP/1.1 200 OK\ncontent-type: text/event-stream\n<any>\n'
  const wrong = await judge(steps, [`${head}\ndata: 1\n> more`, 'data: 2\n> more', 'data: 3'])
  assert.equal(wrong, [[], [], []])
})

conversation('reads a stream that starts without events, and its end', async () => {
  const steps: Step[] = [{ send: HEAD }, { hold: true }, { send: '0\r\n\r\n' }]
  const head = 'HTTP/1.1 200 OK\ncontent-type: text/event-stream\n<any>'
  assert.equal(await judge(steps, [`${head}\n> more`, '> end']), [[], []])
})

conversation('reports events that are wrong, too many, or cut', async () => {
  const head = 'HTTP/1.1 200 OK\n<any>\n'
  const send = HEAD + chunk('data: 1\n\n')
  const whole: Step[] = [{ send: send + chunk('data: 2\n\n') + '0\r\n\r\n' }]
  assert.equal((await judge(whole, [`${head}\ndata: 7\n> more`])).flat(), [
    'events "data: 1", expected "data: 7"',
  ])
  assert.equal((await judge(whole, [`${head}\ndata: 1\n> more`, '> end'])).flat(), [
    'events "data: 2", expected ""',
  ])
  const cut: Step[] = [{ send }, { hold: true }, { close: true }]
  assert.equal((await judge(cut, [`${head}\ndata: 1\n> more`, '> end'])).flat(), [
    'the stream is cut',
  ])
})

conversation('keeps values of the response', async () => {
  const kept: Kept = new Map()
  const send = 'HTTP/1.1 202 Accepted\r\nmcp-session-id: s-1\r\ncontent-length: 0\r\n\r\n'
  const block = 'HTTP/1.1 202 Accepted\nmcp-session-id: <session>\ncontent-length: 0'
  assert.equal(await judge([{ send }], [block], kept), [[]])
  assert.is(kept.get('session 1'), 's-1')
})

conversation(
  'waits for received text, log lines and closed backends, in the order of the block',
  async () => {
    const asked: string[] = []
    const around = {
      target: { port: 1 },
      release: () => {},
      signal: () => {},
      waitForText: async (to: string, text: string) => void asked.push(`${to}: ${text}`),
      waitForClosedBackends: async () => void asked.push('left'),
    }
    const block = '> heard GET /\n> logged shutting down\n> left'
    await deadline(new Conversation(around, new Map()).request(block), WAIT_MS, 'the block')
    assert.equal(asked, ['backend: GET /', 'log: shutting down', 'left'])
  },
)

conversation.run()
