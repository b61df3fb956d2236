import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FormatTable } from '../../../lib/forward/llm/formats.ts'

const formats = suite('forward/llm: formats')

formats('go by the end of a path, in whatever spelling', () => {
  const table = new FormatTable()
  for (const path of [
    '/v1/chat/completions',
    '/v1/chat/completions/',
    '/v1/chat/completions//',
    '/v1/chat/%63ompletions',
    '/v1/chat%2Fcompletions',
  ])
    assert.is(table.of(path), 'completions', path)
  assert.is(table.of('/v1/chat/completions%'), 'detect')
  assert.is(table.of('/'), 'detect')
})

formats('of the user come first, the longest of them before the others', () => {
  const table = new FormatTable({ '/completions': 'messages', '/x/completions': 'responses' })
  assert.is(table.of('/chat/completions'), 'messages')
  assert.is(table.of('/x/completions'), 'responses')
  assert.is(new FormatTable({ '*': 'passthrough' }).of('/x'), 'passthrough')
})

formats.run()
