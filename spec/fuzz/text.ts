// Fuzzing of the JSON and event stream readers with any bytes: the result is the same for every split, and the same as
// that of other readers.

import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { JsonPeek } from '../../lib/text/json-peek.ts'
import { MAX_JSON_DEPTH, findJsonValue } from '../../lib/text/json-scan.ts'
import { EventReader } from '../../lib/text/sse-reader.ts'
import { CUTS, changed, changes, cutAt } from './mutate.ts'
import { target } from './target.ts'

const JSON_TEXTS = [
  '{"model":"m","messages":[{"role":"user","content":"hi \\u00e9\\n"}],"stream":true,"n":-1.5e+3}',
  '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"b":[null,[]]}}}',
  ' [ 1 , "\xc3\xbc" , { } ] ',
]
const JSON_PIECES = [
  ...[
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    '0',
    '-',
    '.',
    'e',
    '\\u00',
    '\\ud800',
    '\\u0000',
  ],
  ...[
    'null',
    '\xff',
    '\xc3',
    '\xed\xa0\x80',
    '\xf4\x90\x80\x80',
    '\xef\xbb\xbf',
    '\0',
    '"model":1,',
  ],
  ...['['.repeat(MAX_JSON_DEPTH), ']'.repeat(MAX_JSON_DEPTH)],
]

function isJson(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false
  try {
    JSON.parse(bytes.toString())
    return depthOf(bytes) <= MAX_JSON_DEPTH
  } catch {
    return false
  }
}

/** The nesting depth of a valid JSON text. */
function depthOf(bytes: Buffer): number {
  let depth = 0
  let most = 0
  for (const [token] of bytes.toString().matchAll(/"(?:\\.|[^"\\])*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') most = Math.max(most, ++depth)
    else if (token === ']' || token === '}') depth--
  }
  return most
}

const scanned = target('accepts exactly the bytes that JSON.parse accepts', async () =>
  fc.asyncProperty(fc.constantFrom(...JSON_TEXTS), changes(JSON_PIECES), async (text, made) => {
    const bytes = Buffer.from(changed(text, made), 'latin1')
    assert.is(findJsonValue(bytes) !== null, isJson(bytes))
  }),
)

function peekAll(chunks: readonly Buffer[]): unknown[] {
  const reported: unknown[] = []
  const peek = new JsonPeek({
    begin: (name, from) => {
      reported.push([name, from])
      return name === 'model' ? 10 : 0
    },
    member: (found) => reported.push([found.name, found.from, found.to, String(found.value)]),
    closed: (at) => reported.push(at),
    fault: (what, at) => reported.push([what, at]),
  })
  for (const chunk of chunks) peek.write(chunk, 0, chunk.length)
  peek.end()
  return reported
}

const peeking = target('peeks into JSON equally at every split', async () =>
  fc.asyncProperty(
    fc.constantFrom(...JSON_TEXTS),
    changes(JSON_PIECES),
    CUTS,
    async (text, made, cuts) => {
      const bytes = changed(text, made)
      assert.equal(peekAll(cutAt(bytes, cuts)), peekAll(cutAt(bytes, [])))
    },
  ),
)

const EVENTS = [
  'event: message\nid: 1\ndata: {"a":1}\n\n: ping\n\ndata: x\ndata: y\n\n',
  '\xef\xbb\xbfretry: 10\r\ndata:a\r\n\r\ndata: [DONE]\r\r',
]
const EVENT_PIECES = [
  '\r',
  '\n',
  '\r\n',
  ':',
  ' ',
  'data',
  'data: ',
  '\0',
  '\xff',
  'id: 2\n',
  'event:',
]

function readEvents(chunks: readonly Buffer[]): unknown[] {
  const reported: unknown[] = []
  const reader = new EventReader(
    {
      event: (name, data, id) => reported.push([name, data.toString('latin1'), id]),
      retry: (ms) => reported.push(ms),
      tooLong: (name) => reported.push(['too long', name]),
    },
    24,
    'skip',
  )
  for (const chunk of chunks) reader.write(chunk, 0, chunk.length)
  return reported
}

const events = target('reads an event stream equally at every split', async () =>
  fc.asyncProperty(
    fc.constantFrom(...EVENTS),
    changes(EVENT_PIECES, 8),
    CUTS,
    async (text, made, cuts) => {
      const bytes = changed(text, made)
      assert.equal(readEvents(cutAt(bytes, cuts)), readEvents(cutAt(bytes, [])))
    },
  ),
)

export const TEXT = [scanned, peeking, events]
