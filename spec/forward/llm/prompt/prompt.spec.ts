// A request body between the client and the attempts: when it is held, when it flows, and when the client is paused.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ByteBudget } from '../../../../lib/core/byte-budgets.ts'
import { MAX_PROMPT_MEMBERS } from '../../../../lib/forward/llm/prompt/prompt-outline.ts'
import { splits } from '../../../support/splits.ts'
import { Provider, ROOM, editsOf, sceneOf, started } from './stand-ins.ts'

const prompt = suite('llm prompt')

const AS_IT_IS = editsOf({})
const OTHER_MODEL = editsOf({ set: new Map([['model', '"other"']]) })

prompt('knows all of a body that arrives with its head before it is ready', () => {
  const text =
    '{"model":"gpt-4o","stream":true,"stream_options":{"include_usage":false},"max_tokens":7}'
  for (const framing of ['length', 'chunked'] as const)
    for (const chunks of splits(Buffer.from(text))) {
      const scene = sceneOf({ framing, first: chunks })
      scene.owner.onReady = () => {
        assert.is(scene.prompt.isWhole, true)
        assert.is(scene.prompt.model, 'gpt-4o')
        assert.is(scene.prompt.stream, true)
        assert.is(scene.prompt.includeUsage, false)
        assert.is(scene.prompt.maxTokens, 7)
        assert.is(scene.prompt.size, text.length)
      }
      scene.prompt.start()
      assert.equal(scene.owner.calls, ['ready'])
      assert.equal(scene.client.calls, ['start content'])
    }
})

prompt(
  'holds the body until the model is known, and then pauses the client until an attempt starts',
  () => {
    const {
      client,
      owner,
      prompt: held,
    } = started({
      holdFor: 'model',
      first: ['{"messages":["model"],'],
      later: ['"mod\\u0065l":"', 'gpt', '", "stream"', ':true}'],
    })
    assert.is(client.send('"mod\\u0065l":"'), true)
    assert.is(client.send('gpt'), true)
    assert.equal(owner.calls, [])
    assert.is(client.send('", "stream"'), false)
    assert.equal(owner.calls, ['ready'])
    assert.is(held.model, 'gpt')
    assert.is(held.isWhole, false)
    const provider = new Provider(held.createAttemptBody(AS_IT_IS))
    assert.is(provider.text, '{"messages":["model"],"mod\\u0065l":"gpt", "stream"')
    assert.equal(client.calls, ['start content', 'resume'])
    assert.is(client.send(':true}'), true)
    client.end()
    assert.is(provider.text, '{"messages":["model"],"mod\\u0065l":"gpt", "stream":true}')
    assert.is(provider.state, 'ended')
    assert.equal(owner.calls, ['ready', 'moreKnown'])
    assert.is(held.stream, true)
  },
)

prompt('is ready without a model when the body has ended', () => {
  const { client, owner, prompt: held } = started({ holdFor: 'model', first: [], later: ['{} '] })
  assert.equal(owner.calls, [])
  client.send('{} ')
  assert.equal(owner.calls, [])
  client.end()
  assert.equal(owner.calls, ['ready'])
  assert.is(held.model, null)
})

prompt('waits for the end that follows the last byte, so that the length is exact', () => {
  const {
    client,
    owner,
    prompt: held,
  } = started({
    holdFor: 'model',
    first: [],
    later: ['{"model":"a"}'],
  })
  assert.is(client.send('{"model":"a"}'), true)
  assert.equal(owner.calls, [])
  client.end()
  assert.equal(owner.calls, ['ready'])
  assert.is(held.createAttemptBody(OTHER_MODEL).length, '{"model":"other"}'.length)
})

prompt('is ready at once when it holds for nothing, even before the first byte', () => {
  for (const framing of ['length', 'open', 'chunked'] as const) {
    const {
      client,
      owner,
      prompt: held,
      head,
    } = started({ framing, first: [], later: ['{"a":1}'] })
    assert.equal(owner.calls, ['ready'])
    assert.is(held.isWhole, false)
    const body = held.createAttemptBody(AS_IT_IS)
    assert.is(body.framing, framing === 'length' ? 'length' : 'open')
    assert.is(body.length, framing === 'length' ? 7 : -1)
    assert.is(head.get('content-length'), framing === 'length' ? '7' : undefined)
    const provider = new Provider(body)
    assert.is(client.send('{"a":1}'), true)
    client.end()
    assert.is(provider.text, '{"a":1}')
    assert.is(provider.writes, 1)
  }
})

prompt('can be sent to a provider from within `ready`, during a write', () => {
  const scene = sceneOf({ holdFor: 'model', first: ['{"a":1,'], later: ['"model":"m",', '"b":2}'] })
  let provider: Provider | null = null
  scene.owner.onReady = () => (provider = new Provider(scene.prompt.createAttemptBody(AS_IT_IS)))
  scene.prompt.start()
  assert.is(scene.client.send('"model":"m",'), true)
  assert.is(scene.client.send('"b":2}'), true)
  scene.client.end()
  assert.is(provider!.text, '{"a":1,"model":"m","b":2}')
  assert.is(provider!.state, 'ended')
})

prompt('pauses the client for a slow provider', () => {
  const { client, prompt: held } = started({ first: ['{"a":1,'], later: ['"b":2,', '"c":3}'] })
  const body = held.createAttemptBody(AS_IT_IS)
  const provider = new Provider(body)
  client.calls.length = 0
  provider.hasRoom = false
  assert.is(client.send('"b":2,'), false)
  provider.hasRoom = true
  body.resume()
  assert.equal(client.calls, ['resume'])
  assert.is(client.send('"c":3}'), true)
  body.pause()
  assert.equal(client.calls, ['resume', 'pause'])
})

prompt('resumes the client only after the provider has taken the held bytes', () => {
  const { client, prompt: held } = started({ first: ['{"a":1,'], later: ['"b":2}'] })
  const body = held.createAttemptBody(AS_IT_IS)
  const full = { write: () => false, end: () => {}, cut: () => {} }
  body.start(full, 'content')
  assert.equal(client.calls, ['start content'])
  body.resume()
  assert.equal(client.calls, ['start content', 'resume'])
})

prompt('uses the largest of the three token limits', () => {
  const first = ['{"max_output_tokens":9,"max_tokens":5,"max_completion_tokens":null}']
  assert.is(started({ first }).prompt.maxTokens, 9)
  assert.is(
    started({ first: ['{"max_tokens":"5","max_output_tokens":-1}'] }).prompt.maxTokens,
    null,
  )
})

prompt('reports facts that become known later, and the end of a body without a length', () => {
  const later = ['"max_', 'tokens":5,', '"x":[1],', '"max_completion_tokens":9}']
  for (const framing of ['length', 'chunked'] as const) {
    const { client, owner, prompt: held } = started({ framing, first: ['{'], later })
    new Provider(held.createAttemptBody(AS_IT_IS))
    client.send(later[0]!)
    assert.is(held.maxTokens, null)
    client.send(later[1]!)
    assert.is(held.maxTokens, 5)
    client.send(later[2]!)
    client.send(later[3]!)
    assert.is(held.maxTokens, 9)
    client.end()
    const ends = framing === 'chunked' ? ['moreKnown'] : []
    assert.equal(owner.calls, ['ready', 'moreKnown', 'moreKnown', ...ends])
    assert.is(held.size, 50)
  }
})

prompt('refuses a body that must be held above the bound, and names the bound', () => {
  const { client, owner, together } = started({
    holdFor: 'model',
    maxHeldBytes: 20,
    first: ['{"a":"0123456789"'],
    later: ['x'.repeat(100)],
  })
  assert.is(client.send(',"b":""'), false)
  assert.equal(owner.calls, ['failed'])
  assert.is(owner.error?.status, 413)
  assert.is(
    owner.error?.message,
    'request body too large: of 117 bytes or more, the first 20 do not contain the model ' +
      '(config.llm.maxHeldBytes)',
  )
  assert.is(together.remaining, ROOM)
  assert.is(client.send('more'), true)
  client.end()
  assert.equal(owner.calls, ['failed'])
})

prompt('refuses a body when the shared budget is used up', () => {
  const together = new ByteBudget(10)
  const { owner, client } = started({
    holdFor: 'model',
    first: ['{"a":1'],
    later: [',"b":2}'],
    sharedBudget: together,
  })
  assert.is(together.remaining, 4)
  assert.is(client.send(',"b":2}'), false)
  assert.is(owner.error?.status, 503)
  assert.match(owner.error?.message ?? '', 'config.llm.maxHeldTogether')
  assert.is(together.remaining, 10)
})

function manyMembers(count: number): string {
  return `{${Array.from({ length: count }, () => '"abc":1').join(', ')}}`
}

prompt('accepts as many members as a request may have', () => {
  const { owner } = started({ first: [manyMembers(MAX_PROMPT_MEMBERS)] })
  assert.equal(owner.calls, ['ready'])
})

const TOO_LONG = "invalid body at byte 18: 'stream_options' is longer than 16384 bytes"
const UNCLEAR =
  "invalid body at byte 18: 'stream_options' must have 'include_usage' once, in this spelling"

const REFUSED: [text: string, message: string][] = [
  ['[]', 'invalid body at byte 0: expected a JSON object'],
  ['{"model":"a","model":"b"}', "invalid body at byte 21: 'model' appears twice"],
  ['{"model":"a","\\u006dodel":"b"}', "invalid body at byte 26: 'model' appears twice"],
  ['{"model":"a","Model":"b"}', "invalid body at byte 21: use the exact member name 'model'"],
  ['{"\u017ftream":true}', "invalid body at byte 11: use the exact member name 'stream'"],
  ['{"max_to\u212aens":1}', "invalid body at byte 16: use the exact member name 'max_tokens'"],
  ['{"USER":1}', "invalid body at byte 8: use the exact member name 'user'"],
  ['{"model":1}', "invalid body at byte 9: 'model' is not a string"],
  ['{"model":["a"]}', "invalid body at byte 9: 'model' is not a string"],
  [`{"model":"${'m'.repeat(1023)}"}`, "invalid body at byte 9: 'model' is longer than 1024 bytes"],
  [`{"stream_options":{"x":"${'x'.repeat(16_384)}"}}`, TOO_LONG],
  ['{"stream_options":{"include_usage":true,"include_usage":false}}', UNCLEAR],
  ['{"stream_options":{"include_usage":true,"include_us\\u0061ge":false}}', UNCLEAR],
  ['{"stream_options":{"Include_Usage":false}}', UNCLEAR],
  [manyMembers(MAX_PROMPT_MEMBERS + 1), 'invalid body at byte 9223: more than 1024 members'],
  ['{"model":"a"', 'invalid body at byte 12: the body ends inside the JSON object'],
  ['{"model":"a"}{}', 'invalid body at byte 13: content after the end of the object'],
  [' ', 'invalid body at byte 1: the body is empty'],
]

prompt('refuses a body that two parsers could read in two ways, at every split', () => {
  for (const [text, message] of REFUSED)
    for (const chunks of splits(Buffer.from(text))) {
      const { owner, together } = started({ first: chunks, names: ['user'] })
      assert.equal(owner.calls, ['failed'], text)
      assert.is(owner.error?.code, 'LLM_REQUEST')
      assert.is(owner.error?.status, 400)
      assert.is(owner.error?.message, `failed to process LLM request: ${message}`)
      assert.is(together.remaining, ROOM)
    }
})

prompt('never completes a body that turns out to be invalid while it is sent', () => {
  for (const [text] of REFUSED)
    for (const chunks of splits(Buffer.from(text))) {
      const [first, ...later] = chunks
      const scene = started({ framing: 'chunked', first: [], later: chunks, names: ['user'] })
      const provider = new Provider(scene.prompt.createAttemptBody(OTHER_MODEL))
      scene.client.send(first!)
      for (const chunk of later) scene.client.send(chunk)
      scene.client.end()
      assert.is(scene.owner.error?.code, 'LLM_REQUEST', text)
      assert.is(scene.owner.calls.filter((call) => call === 'failed').length, 1)
      assert.is(provider.state, 'open')
      assert.is(scene.together.remaining, ROOM)
    }
})

prompt.run()
