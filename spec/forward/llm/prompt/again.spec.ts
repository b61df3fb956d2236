// A request body for one attempt after the other, and what is released at the end.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ByteBudget } from '../../../../lib/core/byte-budgets.ts'
import { Provider, ROOM, editsOf, sceneOf, started } from './stand-ins.ts'

const again = suite('llm prompt, again')

const AS_IT_IS = editsOf({})
const OTHER_MODEL = editsOf({ set: new Map([['model', '"other"']]) })

again('keeps a body for another attempt, with other edits and another length', () => {
  const { client, head, prompt, together } = started({
    maxKeptBytes: 100,
    first: ['{"model":"a",'],
    later: ['"b":2}'],
  })
  const first = new Provider(prompt.createAttemptBody(OTHER_MODEL))
  assert.is(first.text, '{"model":"other",')
  assert.is(head.get('content-length'), '23')
  assert.is(prompt.isReplayable, true)
  prompt.endAttempt()
  assert.equal(client.calls, ['start content', 'resume', 'pause'])
  assert.is(client.send('"b":2}'), false)
  client.end()
  const body = prompt.createAttemptBody(editsOf({ set: new Map([['model', '"last"']]) }))
  assert.is(head.get('content-length'), '22')
  const second = new Provider(body)
  assert.is(second.text, '{"model":"last","b":2}')
  assert.is(second.state, 'ended')
  assert.is(first.text, '{"model":"other",')
  assert.is(first.state, 'open')
  assert.is(prompt.isReplayable, true)
  prompt.discard()
  assert.is(prompt.isReplayable, false)
  assert.is(together.remaining, ROOM)
})

again('keeps nothing above the bound or above the shared budget', () => {
  const later = ['"b":2}']
  const first = ['{"model":"a",']
  for (const options of [{ keep: 0 }, { keep: 18 }, { keep: 100, together: new ByteBudget(18) }])
    for (const framing of ['length', 'chunked'] as const) {
      const scene = started({ ...options, framing, first, later })
      const { remaining } = scene.together
      const provider = new Provider(scene.prompt.createAttemptBody(AS_IT_IS))
      scene.client.send(later[0]!)
      assert.is(scene.prompt.isReplayable, false)
      assert.is(scene.together.remaining, remaining + 13)
      scene.client.end()
      assert.is(provider.text, '{"model":"a","b":2}')
      scene.prompt.discard()
      assert.is(scene.together.remaining, remaining + 13)
    }
})

again('releases held bytes as soon as no other attempt can need them', () => {
  const first = ['{"model":"a",']
  const { client, prompt, together } = started({ maxKeptBytes: 18, first, later: ['"b":2}'] })
  assert.is(together.remaining, ROOM - 13)
  new Provider(prompt.createAttemptBody(AS_IT_IS))
  assert.is(together.remaining, ROOM)
  prompt.endAttempt()
  assert.is(prompt.isReplayable, false)
  assert.is(client.send('"b":2}'), false)
  assert.is(together.remaining, ROOM)
})

again('keeps no more bytes after the first ones were released', () => {
  const together = new ByteBudget(18)
  const later = ['"b":2,', '"c":3}']
  const { client, prompt } = started({
    maxKeptBytes: 100,
    first: ['{"model":"a",'],
    later,
    sharedBudget: together,
  })
  new Provider(prompt.createAttemptBody(AS_IT_IS))
  assert.is(together.remaining, 5)
  for (const chunk of later) {
    client.send(chunk)
    assert.is(together.remaining, 18)
  }
})

again('sends nothing to an attempt that was ended', () => {
  const { client, prompt } = started({ maxKeptBytes: 100, first: ['{"a":1'], later: ['}'] })
  const old = prompt.createAttemptBody(AS_IT_IS)
  const late = prompt.createAttemptBody(AS_IT_IS)
  assert.is(new Provider(old).text, '')
  const provider = new Provider(late)
  client.calls.length = 0
  old.resume()
  old.pause()
  old.cancel()
  assert.equal(client.calls, [])
  client.send('}')
  client.end()
  assert.is(provider.text, '{"a":1}')
})

again('cuts the request to the provider when the client closes the connection, at any time', () => {
  const flowing = started({ maxKeptBytes: 100, first: ['{'], later: ['}'] })
  const provider = new Provider(flowing.prompt.createAttemptBody(AS_IT_IS))
  flowing.client.leave()
  assert.is(provider.state, 'client_closed')
  assert.is(flowing.prompt.isReplayable, false)
  assert.is(flowing.together.remaining, ROOM)

  const waiting = started({ first: ['{'], later: ['}'] })
  const body = waiting.prompt.createAttemptBody(AS_IT_IS)
  waiting.client.leave()
  const late = new Provider(body)
  assert.is(late.state, 'client_closed')
  assert.is(late.text, '')

  const reading = started({ holdFor: 'model', first: ['{'], later: ['}'] })
  reading.client.leave()
  assert.equal(reading.owner.calls, [])

  const gone = sceneOf({})
  gone.client.start = (sink) => sink.cut('client_closed')
  gone.prompt.start()
  assert.equal(gone.owner.calls, [])
  assert.is(reading.together.remaining, ROOM)
})

again('releases what it holds when it is discarded, and keeps no more', () => {
  const text = '{"model":"a","stream_options":{"a":1},"stream":true}'
  const stages = ['reading', 'ready', 'flowing', 'waiting', 'ended'] as const
  for (const stage of stages) {
    const later = [text.slice(1, 30), text.slice(30)]
    const scene = started({
      maxKeptBytes: 100,
      first: [text.slice(0, 1)],
      later,
      holdFor: 'nothing',
    })
    const body = scene.prompt.createAttemptBody(editsOf({ usage: 'ask' }))
    const provider = stage === 'reading' || stage === 'ready' ? null : new Provider(body)
    if (stage !== 'reading') scene.client.send(later[0]!)
    if (stage === 'ended') {
      scene.client.send(later[1]!)
      scene.client.end()
    }
    assert.ok(scene.together.remaining < ROOM, stage)
    scene.prompt.discard()
    assert.is(scene.together.remaining, ROOM, stage)
    scene.client.send('more')
    scene.client.end()
    scene.prompt.discard()
    assert.is(scene.together.remaining, ROOM, stage)
    assert.is(provider?.state, provider === null ? undefined : stage === 'ended' ? 'ended' : 'open')
  }
})

again('cancels the body of the client when an attempt cancels its body', () => {
  const { client, prompt, together } = started({ maxKeptBytes: 9, first: ['{'], later: ['}'] })
  const body = prompt.createAttemptBody(AS_IT_IS)
  new Provider(body)
  body.cancel()
  assert.is(client.calls.at(-1), 'cancel')
  assert.is(together.remaining, ROOM)
})

again.run()
