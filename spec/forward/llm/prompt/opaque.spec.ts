// Bodies that cannot be read: compressed, of another type, or not JSON.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isCompressedRequest, isJsonRequest } from '../../../../lib/forward/llm/prompt/prompt.ts'
import { Provider, editsOf, headWith, sceneOf, started } from './stand-ins.ts'

const opaque = suite('llm prompt, opaque')

const EDITS = editsOf({ set: new Map([['model', '"other"']]), usage: 'ask' })

opaque('reads a body as JSON if its type is JSON or missing', () => {
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

opaque('does not read compressed JSON', () => {
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

opaque('forwards the body without edits, and can send it again', () => {
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
    assert.equal(scene.owner.calls, ['ready'])
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

opaque('sends no body where there is none', () => {
  const { head, owner, prompt } = started({ framing: 'none', holdFor: 'model' })
  assert.is(prompt.isOpaque, true)
  assert.equal(owner.calls, ['ready'])
  const body = prompt.createAttemptBody(EDITS)
  assert.is(body.framing, 'none')
  assert.is(head.has('content-length'), false)
  const provider = new Provider(body)
  assert.is(provider.state, 'ended')
  assert.is(provider.text, '')
})

opaque('sends no body for chunks without content', () => {
  const { head, prompt } = started({ framing: 'chunked', fields: { 'content-type': 'text/plain' } })
  const body = prompt.createAttemptBody(EDITS)
  assert.is(body.framing, 'none')
  assert.is(head.get('content-length'), '0')
  assert.is(head.has('transfer-encoding'), false)
})

opaque('forwards a body that is not JSON, where its members are not needed', () => {
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

opaque('stops the search for a model above the bound', () => {
  const scene = started({
    faults: 'pass',
    holdFor: 'model',
    maxHeldBytes: 8,
    first: ['{"a":"xx'],
    later: ['xxxx'],
  })
  assert.equal(scene.owner.calls, [])
  scene.client.send('xxxx')
  assert.equal(scene.owner.calls, ['ready'])
})

opaque('cannot name another model than path or query', () => {
  const scene = started({ model: 'cheap', first: ['{"model":"de'], later: ['ar"}'] })
  const provider = new Provider(scene.prompt.createAttemptBody(editsOf({})))
  scene.client.send('ar"}')
  assert.is(scene.owner.error?.code, 'LLM_REQUEST')
  assert.is(provider.text, '{"model":"de')
})

opaque.run()
