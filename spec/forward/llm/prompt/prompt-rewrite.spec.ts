// Edits of a body while it arrives: each fixture at every split, in one piece, in two and byte by byte.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { MAX_UNDECIDED_BYTES } from '../../../../lib/forward/llm/prompt/prompt-rewrite.ts'
import { setIncludeUsage } from '../../../../lib/forward/llm/prompt/prompt-outline.ts'
import type { BodyEdits } from '../../../../lib/forward/llm/llm-call-types.ts'
import { places, splits } from '../../../support/splits.ts'
import { Provider, ROOM, editsOf, started } from './stand-ins.ts'

const rewrite = suite('llm prompt, rewrite')

const ASK = editsOf({ usage: 'ask' })
const MODEL = editsOf({ set: new Map([['model', '"other-model"']]) })
const USAGE = '"stream_options":{"include_usage":true}'

const EDITED: [before: string, edits: BodyEdits, after: string][] = [
  ['{"model":"a"}', editsOf({}), '{"model":"a"}'],
  ['{"model":"a","b":1}', MODEL, '{"model":"other-model","b":1}'],
  ['{ "model" : "a" , "b":1 }\n', MODEL, '{ "model" : "other-model" , "b":1 }\n'],
  ['{"mod\\u0065l":"a"}', MODEL, '{"mod\\u0065l":"other-model"}'],
  [
    '{"b":{"model":"a"},"c":"\\"model\\":"}',
    MODEL,
    '{"b":{"model":"a"},"c":"\\"model\\":","model":"other-model"}',
  ],
  ['{}', MODEL, '{"model":"other-model"}'],
  [' { } ', MODEL, ' { "model":"other-model"} '],
  ['{"model":null}', MODEL, '{"model":"other-model"}'],
  ['{"stream":true}', ASK, `{"stream":true,${USAGE}}`],
  ['{"stream":false}', ASK, '{"stream":false}'],
  ['{"a":{"stream":true}}', ASK, '{"a":{"stream":true}}'],
  ['{"stream":true,"stream_options":null}', ASK, `{"stream":true,${USAGE}}`],
  ['{"stream":true,"stream_options":{}}', ASK, `{"stream":true,${USAGE}}`],
  [
    '{"stream":true,"stream_options":{"include_usage":true }}',
    ASK,
    '{"stream":true,"stream_options":{"include_usage":true }}',
  ],
  ['{"stream_options":{"include_usage":false},"stream":true}', ASK, `{${USAGE},"stream":true}`],
  [
    '{"stream_options":{ "x": 1.0 },"a":[],"stream":true}',
    ASK,
    '{"stream_options":{"include_usage":true, "x": 1.0 },"a":[],"stream":true}',
  ],
  [
    '{"stream_options":null,"a":[],"stream":false}',
    ASK,
    '{"stream_options":null,"a":[],"stream":false}',
  ],
  ['{"stream_options":{"x":1},"a":1}', ASK, '{"stream_options":{"x":1},"a":1}'],
  ['{"stream":true,"stream_options":[1]}', ASK, '{"stream":true,"stream_options":[1]}'],
  ['{"stream":"true"}', ASK, '{"stream":"true"}'],
  [
    '{"stream":true}',
    editsOf({ usage: 'ask', set: new Map([['stream', 'false']]) }),
    '{"stream":false}',
  ],
  [
    '{"a":1}',
    editsOf({ usage: 'ask', defaults: new Map([['stream', 'true']]) }),
    `{"a":1,"stream":true,${USAGE}}`,
  ],
  [
    '{"stream":true}',
    editsOf({ usage: 'ask', set: new Map([['stream_options', '{}']]) }),
    '{"stream":true,"stream_options":{}}',
  ],
  [
    '{"a":1}',
    editsOf({
      defaults: new Map([
        ['a', '2'],
        ['b', '3'],
        ['"', '4'],
      ]),
    }),
    '{"a":1,"b":3,"\\"":4}',
  ],
  [
    '{"a":12345}',
    editsOf({ set: new Map([['a', '6']]), defaults: new Map([['a', '7']]) }),
    '{"a":6}',
  ],
  ['\ufeff{"model":"日本"}', MODEL, '\ufeff{"model":"other-model"}'],
]
const NAMES = ['a', 'b', '"']

rewrite('edits a complete body and sets its length, at every split', () => {
  for (const [before, edits, after] of EDITED)
    for (const first of splits(Buffer.from(before))) {
      const { prompt, head } = started({ first, names: NAMES })
      const body = prompt.createAttemptBody(edits)
      const provider = new Provider(body)
      assert.is(provider.text, after, before)
      assert.is(provider.state, 'ended')
      assert.is(body.length, provider.bytes.length)
      assert.is(head.get('content-length'), String(body.length))
    }
})

rewrite('edits a chunked body while it arrives, at every split', () => {
  for (const [before, edits, after] of EDITED)
    for (const later of splits(Buffer.from(before))) {
      const { client, prompt, head } = started({ framing: 'chunked', later, names: NAMES })
      const body = prompt.createAttemptBody(edits)
      assert.is(body.framing, 'open')
      assert.is(head.has('content-length'), false)
      const provider = new Provider(body)
      for (const chunk of later) client.send(chunk)
      client.end()
      assert.is(provider.text, after, before)
    }
})

rewrite('keeps the content-length by spaces after the end, at every split', () => {
  for (const [before, edits, after] of EDITED) {
    const bytes = Buffer.from(before)
    for (const at of [0, ...places(bytes.length)]) {
      const later = [bytes.subarray(at)]
      const { client, prompt, head } = started({
        first: [bytes.subarray(0, at)],
        later,
        names: NAMES,
      })
      const body = prompt.createAttemptBody(edits)
      assert.is(head.get('content-length'), String(body.length))
      const provider = new Provider(body)
      client.send(later[0]!)
      client.end()
      assert.is(provider.text, after.padEnd(after.length + body.length - Buffer.byteLength(after)))
      assert.is(provider.bytes.length, body.length)
    }
  }
})

rewrite('sets no higher content-length than it may need', () => {
  const { prompt } = started({ first: ['{"model":"a"'], later: [',"stream":false}'] })
  assert.is(prompt.createAttemptBody(MODEL).length, '{"model":"other-model","stream":false}'.length)
  const still = started({ first: ['{"stream":false'], later: ['}'] })
  assert.is(still.prompt.createAttemptBody(ASK).length, '{"stream":false}'.length)
  const early = started({ first: [], later: ['{"model":"a"}'] })
  assert.is(
    early.prompt.createAttemptBody(MODEL).length,
    '{"model":"a"},"model":"other-model"'.length,
  )
})

rewrite('does not change a value that is already correct', () => {
  const { prompt, head } = started({ first: ['{"model":"other-model"'], later: ['}'] })
  assert.is(prompt.createAttemptBody(MODEL).length, 23)
  assert.is(head.get('content-length'), '23')
})

rewrite('knows whether it asks for usage that the client did not ask for', () => {
  const asking = (text: string, edits = ASK): boolean => {
    const { prompt } = started({ first: [text] })
    new Provider(prompt.createAttemptBody(edits))
    return prompt.asksForUsage
  }
  assert.is(asking('{"stream":true}'), true)
  assert.is(asking('{"stream":true,"stream_options":{}}'), true)
  assert.is(asking('{"stream":true,"stream_options":{"include_usage":true}}'), false)
  assert.is(asking('{"stream":false}'), false)
  assert.is(asking('{"stream":true}', MODEL), false)
  const never = started({ first: ['{"stream":false'], later: ['}'] })
  assert.is(never.prompt.mayAskForUsage, false)
  new Provider(never.prompt.createAttemptBody(ASK))
  assert.is(never.prompt.mayAskForUsage, false)
  const late = started({ first: ['{"stream":true'], later: ['}'] })
  new Provider(late.prompt.createAttemptBody(ASK))
  assert.is(late.prompt.asksForUsage, false)
  assert.is(late.prompt.mayAskForUsage, true)
  late.client.send('}')
  assert.is(late.prompt.asksForUsage, true)
})

rewrite('holds the bytes from the options on until `stream` is known', () => {
  const later = [
    '{"a":1,"stream_options":',
    '{"x"',
    ':1},"messages":"',
    '","stream":tr',
    'ue,"b":',
    '2}',
  ]
  const { client, prompt, together } = started({ framing: 'chunked', later })
  const provider = new Provider(prompt.createAttemptBody(ASK))
  const seen: number[] = []
  for (const chunk of later) {
    assert.is(client.send(chunk), true)
    seen.push(provider.bytes.length)
  }
  client.end()
  assert.equal(seen, [24, 24, 24, 24, 85, 87])
  assert.is(
    provider.text,
    '{"a":1,"stream_options":{"include_usage":true,"x":1},"messages":"","stream":true,"b":2}',
  )
  assert.is(together.remaining, ROOM)
})

rewrite('refuses a body with `stream` too far after the options', () => {
  const open = '{"stream_options":{},"messages":"'
  const long = 'x'.repeat(MAX_UNDECIDED_BYTES)
  const later = [open, long, long, '","stream":true}']
  const { client, prompt, owner, together } = started({ framing: 'chunked', later })
  const provider = new Provider(prompt.createAttemptBody(ASK))
  client.send(open)
  client.send(long)
  assert.is(provider.text, '{"stream_options":')
  client.send(long)
  assert.match(owner.error?.message ?? '', /'stream' more than 65536 bytes after 'stream_options'/)
  client.send('","stream":true}')
  client.end()
  assert.not.ok(provider.text.endsWith('}'))
  assert.is(together.remaining, ROOM)
})

rewrite('forwards such a body unchanged where usage is not required', () => {
  const open = '{"stream_options":{},"messages":"'
  const long = 'x'.repeat(MAX_UNDECIDED_BYTES)
  const later = [open, long, long, '","stream":true}']
  const { client, prompt, owner, together } = started({ framing: 'chunked', later })
  const provider = new Provider(prompt.createAttemptBody(editsOf({ usage: 'askIfPossible' })))
  for (const part of later) client.send(part)
  client.end()
  assert.ok(provider.text === later.join(''))
  assert.equal([owner.error, prompt.asksForUsage], [null, false])
  prompt.discard()
  assert.is(together.remaining, ROOM)
})

rewrite('holds nothing where the options already ask for usage', () => {
  const open = '{"stream_options":{"include_usage":true},"messages":"'
  const long = 'x'.repeat(MAX_UNDECIDED_BYTES * 2)
  const later = [open, long, '","stream":true}']
  const { client, prompt, owner } = started({ framing: 'chunked', later })
  const provider = new Provider(prompt.createAttemptBody(ASK))
  client.send(open)
  assert.is(provider.text, open)
  client.send(long)
  client.send('","stream":true}')
  client.end()
  assert.is(provider.text, later.join(''))
  assert.equal([owner.error, prompt.asksForUsage], [null, false])
})

rewrite('sets `include_usage` in options and keeps everything else in them', () => {
  const cases: [options: string, after: string | null][] = [
    ['null', '{"include_usage":true}'],
    ['{}', '{"include_usage":true}'],
    ['{ }', '{"include_usage":true }'],
    ['{"a":1e400,"b":[]}', '{"include_usage":true,"a":1e400,"b":[]}'],
    ['{"include_usage":false}', '{"include_usage":true}'],
    ['{"a":"}" , "include_usage" : null}', '{"a":"}" , "include_usage" : true}'],
    ['{"includ\\u0065_usage":0}', '{"includ\\u0065_usage":true}'],
    ['{"include_usage":true}', null],
    ['[]', null],
    ['"include_usage"', null],
    ['true', null],
  ]
  for (const [options, after] of cases)
    assert.is(setIncludeUsage(Buffer.from(options)), after, options)
})

rewrite('forwards a huge string in as many pieces as it arrives', () => {
  const piece = 'y'.repeat(60_000)
  const later = ['{"model":"a","messages":"', ...Array.from({ length: 100 }, () => piece), '"}']
  const { client, prompt, together } = started({ later })
  const provider = new Provider(prompt.createAttemptBody(MODEL))
  for (const chunk of later) assert.is(client.send(chunk), true)
  client.end()
  // With the padding.
  assert.is(provider.writes, later.length + 1)
  const { messages, model } = JSON.parse(provider.text) as { messages: string; model: string }
  assert.is(model, 'other-model')
  assert.is(messages, piece.repeat(100))
  assert.is(together.remaining, ROOM)
})

rewrite('stops the padding when the reader gives up during it', () => {
  // The bug: the padding never ended.
  const { client, prompt, together } = started({
    names: ['metadata'],
    first: ['{"model":"a",'],
    later: ['"metadata":1}'],
  })
  const text = JSON.stringify('x'.repeat(9_000))
  const body = prompt.createAttemptBody(editsOf({ defaults: new Map([['metadata', text]]) }))
  let spaces = 0
  body.start(
    {
      write(bytes, from, to) {
        if (bytes.subarray(from, to).toString().trim() === '') spaces++
        if (spaces === 1) body.cancel()
        return true
      },
      end: () => assert.unreachable('it was cancelled'),
      cut: () => assert.unreachable('it was cancelled'),
    },
    'content',
  )
  client.send('"metadata":1}')
  client.end()
  assert.equal([spaces, together.remaining], [1, ROOM])
})

rewrite('refuses edits of members that are not watched', () => {
  const { prompt } = started({ first: ['{}'] })
  const edits = editsOf({ set: new Map([['temperature', '1']]) })
  assert.throws(() => prompt.createAttemptBody(edits), "'temperature' was not watched")
})

rewrite.run()
