import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { answerIn, fieldIn, messageIn } from '../../perf/mcp-answer.ts'

const answers = suite('perf MCP answers')

const JSON_ANSWER =
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a1-b2\r\n' +
  'Content-Length: 8\r\n\r\n{"id":1}'

const EVENTS =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
  'e\r\nid: 1\ndata: \n\n\r\n' +
  '1f\r\nevent: message\ndata: {"id":1}\n\n\r\n' +
  '0\r\n\r\n'

function messageOf(text: string): string | undefined {
  const answer = answerIn(text)
  return answer === null ? undefined : messageIn(answer)
}

answers('are whole with their last byte and not before', () => {
  for (const text of [JSON_ANSWER, EVENTS]) {
    for (let end = 0; end < text.length; end++) assert.is(answerIn(text.slice(0, end)), null)
    assert.is(messageOf(text), '{"id":1}')
  }
})

answers('have a status, and fields whatever their letters', () => {
  const answer = answerIn(JSON_ANSWER)
  assert.is(answer?.status, 200)
  assert.is(answer && fieldIn(answer, 'mcp-session-id'), 'a1-b2')
  assert.is(answer && fieldIn(answer, 'mcp-session'), undefined)
  assert.is(answerIn('HTTP/1.1 202 Accepted\r\n\r\n')?.status, 202)
})

answers('of an event stream are its last event with data, however it is chunked', () => {
  const [head = ''] = EVENTS.split('\r\n\r\n')
  const body = 'event: message\r\ndata: {"id":1}\r\n\r\n'
  const chunks = body.replace(/[^]/g, '1\r\n$&\r\n')
  assert.is(messageOf(`${head}\r\n\r\n${chunks}0\r\n\r\n`), '{"id":1}')
})

answers('of an event stream may have a length', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 16\r\n\r\n'
  assert.is(messageOf(`${head}data: {"id":1}\n\n`), '{"id":1}')
})

answers('with broken chunks are refused', () => {
  const [head = ''] = EVENTS.split('\r\n\r\n')
  assert.throws(() => answerIn(`${head}\r\n\r\nxyz\r\n`), /chunks of the answer are broken/)
})

answers.run()
