import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { sessionSuffixOf, findSessionWorker, workerNameOf } from '../../lib/core/session-owner.ts'
import { requestOf } from '../support/exchange-of.ts'

const test = suite('session owner')

const ID = '226f685e-eb0c-4e53-a9d0-b5f09484514c'

const named = (id: string): string | null =>
  findSessionWorker(requestOf('POST /mcp HTTP/1.1', 'Host: h', `Mcp-Session-Id: ${id}`))

test('an id names the worker that created it', () => {
  const name = workerNameOf({ slot: 2, epoch: 17 })
  assert.is(named(ID + sessionSuffixOf(name)), name)
  assert.is(named(ID + sessionSuffixOf(workerNameOf({ slot: 64, epoch: 1 }))), 'w64e1')
})

test('an id of a single process, of another server or without a suffix names none', () => {
  for (const id of [ID, '', 'x.y', `${ID}.`, `${ID}.w2`, `${ID}.w2e1.`, `${ID}.w2e1x`, `.W2E1`])
    assert.is(named(id), null, id)
  assert.is(findSessionWorker(requestOf('POST /mcp HTTP/1.1', 'Host: h')), null)
})

test('the older transport has the id in the query, and the header has precedence', () => {
  const old = (target: string, ...fields: string[]): string | null =>
    findSessionWorker(requestOf(`POST ${target} HTTP/1.1`, 'Host: h', ...fields))
  assert.is(old(`/sse?sessionId=${ID}.w1e1`), 'w1e1')
  assert.is(old(`/sse?a=b&sessionId=${ID}%2Ew3e4`), 'w3e4')
  assert.is(old(`/sse?session=${ID}.w1e1`), null)
  assert.is(old(`/sse?sessionId=${ID}.w1e1`, `mcp-session-id: ${ID}.w2e1`), 'w2e1')
})

test.run()
