// The format of a path, in every spelling that a server may accept.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FormatTable } from '../../../lib/forward/llm/llm-formats.ts'

const formats = suite('forward/llm: formats')

formats('depend on the end of a path, in any spelling', () => {
  const table = new FormatTable()
  for (const path of [
    '/v1/chat/completions',
    '/v1/chat/completions/',
    '/v1/chat/completions//',
    '/v1/chat/%63ompletions',
    '/v1/chat%2Fcompletions',
    '/v1/Chat/Completions',
    '/v1//chat/completions/.',
    '/v1/chat/completions/x/..',
    '/v1/chat/completions/%2e',
    '/v1/%ff/../chat/completion%73',
    '/v1/chat/completions;a=1',
    '/v1;a=1/chat/completions',
    '/v1/chat/completions%20',
    '/v1/chat/completions.',
    '/v1\\chat\\completions',
  ])
    assert.is(table.formatOf(path), 'completions', path)
  assert.is(table.formatOf('/v1beta/models/g%3AgenerateContent'), 'generateContent')
  assert.is(table.formatOf('/v1/chat/completions%'), 'detect')
  assert.is(table.formatOf('/'), 'detect')
})

formats('are not free for a path that servers read in several ways', () => {
  const table = new FormatTable()
  assert.is(table.formatOf('/v1/messages/count_tokens/'), 'anthropicTokenCount')
  assert.is(table.formatOf('/v1/%6dodels'), 'models')
  for (const [path, format] of [
    ['/v1/chat/completions;/messages/count_tokens', 'completions'],
    ['/v1/messages/count_tokens;x/../../chat/completions', 'completions'],
    ['/v1/messages;x=/models', 'messages'],
    ['/v1/messages/count_tokens;x', 'detect'],
  ] as const)
    assert.is(table.formatOf(path), format, path)
})

formats('of the configuration come first, the longest before the others', () => {
  const table = new FormatTable({ '/completions': 'messages', '/x/completions': 'responses' })
  assert.is(table.formatOf('/chat/completions'), 'messages')
  assert.is(table.formatOf('/x/completions'), 'responses')
  assert.is(new FormatTable({ '*': 'passthrough' }).formatOf('/x'), 'passthrough')
})

formats.run()
