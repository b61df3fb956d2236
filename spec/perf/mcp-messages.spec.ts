import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  INITIALIZE,
  INITIALIZED,
  answerFault,
  answerText,
  callText,
} from '../../perf/mcp-messages.ts'

const messages = suite('perf MCP messages')

messages('are small JSON on one line, one byte a character', () => {
  for (const text of [INITIALIZE, INITIALIZED, callText(7), answerText('7', 7)]) {
    assert.not.throws(() => JSON.parse(text))
    assert.not.match(text, /[^\x20-\x7e]/)
  }
  assert.ok(callText(1).length >= 160 && callText(1).length <= 200, `${callText(1).length}`)
  const answer = answerText('1', 1)
  assert.ok(answer.length >= 250 && answer.length <= 300, `${answer.length}`)
})

messages('ask for a page by the id of the call', () => {
  const call = JSON.parse(callText(42)) as { id: number; params: { arguments: { page: number } } }
  assert.is(call.id, 42)
  assert.is(call.params.arguments.page, 42)
})

messages('know the answer that belongs to a call', () => {
  assert.is(answerFault(answerText('42', 42), 42), null)
})

messages('say what is wrong with any other', () => {
  assert.match(answerFault(answerText('41', 42), 42) ?? '', /call 42 got the answer to 41/)
  assert.match(answerFault(answerText('"42"', 42), 42) ?? '', /call 42 got the answer to 42/)
  assert.match(answerFault(answerText('42', 41), 42) ?? '', /call 42 was answered: .*Page 41/)
  const error = '{"jsonrpc":"2.0","id":42,"error":{"code":-32000,"message":"no"}}'
  assert.match(answerFault(error, 42) ?? '', /call 42 was answered: .*-32000/)
})

messages.run()
