// Bodies that nobody can look into on their way.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isCompressedRequest, isJsonRequest } from '../../../../lib/forward/llm/prompt/prompt.ts'
import { Provider, editsOf, headWith, sceneOf, started } from './stand-ins.ts'

const opaque = suite('llm prompt, opaque')

const EDITS = editsOf({ set: new Map([['model', '"other"']]), usage: 'ask' })

opaque('takes for JSON what is called so, and what is not called anything', () => {
  const types: [type: string, expected: boolean][] = [
    ['application/json', true],
    ['Application/JSON', true],
    ['application/json; charset=utf-8', true],
    ['application/json ;charset=utf-8', true],
    ['application/vnd.api+json', true],
    ['image/x+json;a=b', true],
    ['application/jsonl', false],
    ['application/x-json', false],
    ['text/json', false],
    ['text/plain', false],
    ['text/plain; application/json', false],
    ['multipart/form-data; boundary=a+json', false],
    ['application/x-www-form-urlencoded', false],
    ['', false],
  ]
  for (const [type, expected] of types)
    assert.is(isJsonRequest(headWith({ 'content-type': type })), expected, type)
  assert.is(isJsonRequest(headWith({})), true)
})

opaque('takes compressed JSON for something else', () => {
  const encodings: [encoding: string, expected: boolean][] = [
    ['identity', false],
    ['Identity ', false],
    ['gzip', true],
    ['br', true],
    ['identity, gzip', true],
  ]
  for (const [encoding, expected] of encodings)
    assert.is(isCompressedRequest(headWith({ 'content-encoding': encoding })), expected, encoding)
})

opaque('passes untouched, whatever is to be edited, and can be sent again', () => {
  for (const framing of ['length', 'chunked'] as const) {
    const scene = started({
      framing,
      fields: { 'content-encoding': 'gzip' },
      holdFor: 'model',
      maxKeptBytes: 50,
      first: ['{"model"'],
      later: [']]]'],
    })
    assert.is(scene.prompt.isOpaque, true)
    assert.equal(scene.owner.heard, ['ready'])
    const first = new Provider(scene.prompt.createAttemptBody(EDITS))
    assert.is(scene.head.get('content-length'), framing === 'length' ? '11' : undefined)
    scene.client.send(']]]')
    scene.client.end()
    scene.prompt.endAttempt()
    const body = scene.prompt.createAttemptBody(EDITS)
    assert.is(body.length, 11)
    assert.is(scene.head.get('content-length'), '11')
    for (const provider of [first, new Provider(body)]) {
      assert.is(provider.text, '{"model"]]]')
      assert.is(provider.state, 'ended')
    }
    assert.is(scene.prompt.model, null)
    assert.is(scene.prompt.asksForUsage, false)
  }
})

opaque('has nothing to send where nothing came', () => {
  const { head, owner, prompt } = started({ framing: 'none', holdFor: 'model' })
  assert.is(prompt.isOpaque, true)
  assert.equal(owner.heard, ['ready'])
  const body = prompt.createAttemptBody(EDITS)
  assert.is(body.framing, 'none')
  assert.is(head.has('content-length'), false)
  const provider = new Provider(body)
  assert.is(provider.state, 'ended')
  assert.is(provider.text, '')
})

opaque('says so when chunks turn out to hold nothing', () => {
  const { head, prompt } = started({ framing: 'chunked', fields: { 'content-type': 'text/plain' } })
  const body = prompt.createAttemptBody(EDITS)
  assert.is(body.framing, 'none')
  assert.is(head.get('content-length'), '0')
  assert.is(head.has('transfer-encoding'), false)
})

opaque('passes what turns out to be something else, where nothing must be known of it', () => {
  for (const body of [
    '[1]',
    '{"model":3}',
    '{"a":1}x',
    '{"Model":1}',
    '{"model":"a","model":"b"}',
  ]) {
    const half = body.length >> 1
    const [first, later] = [[body.slice(0, half)], [body.slice(half)]]
    const scene = sceneOf({ faults: 'pass', holdFor: 'model', first, later })
    let provider: Provider | null = null
    scene.owner.onReady = () =>
      (provider = new Provider(scene.prompt.createAttemptBody(editsOf({}))))
    scene.prompt.start()
    scene.client.send(later[0]!)
    scene.client.end()
    assert.is(scene.prompt.isOpaque, true, body)
    assert.is((provider as Provider | null)?.text, body)
  }
})

opaque('stops to look for a model that does not come', () => {
  const scene = started({
    faults: 'pass',
    holdFor: 'model',
    maxHeldBytes: 8,
    first: ['{"a":"xx'],
    later: ['xxxx'],
  })
  assert.equal(scene.owner.heard, [])
  scene.client.send('xxxx')
  assert.equal(scene.owner.heard, ['ready'])
})

opaque('is no way to name another model than the head', () => {
  const scene = started({ model: 'cheap', first: ['{"model":"de'], later: ['ar"}'] })
  const provider = new Provider(scene.prompt.createAttemptBody(editsOf({})))
  scene.client.send('ar"}')
  assert.is(scene.owner.error?.code, 'LLM_REQUEST')
  assert.is(provider.text, '{"model":"de')
})

opaque.run()
