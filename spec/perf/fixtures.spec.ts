import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ANSWER_BODY, REQUEST_BODY, eachStamp, eventChunk } from '../../perf/fixtures.ts'

const fixtures = suite('perf fixtures')

function stampsIn(text: string): number[] {
  const stamps: number[] = []
  eachStamp(text, (micros) => stamps.push(micros))
  return stamps
}

fixtures('are small JSON bodies, one byte a character', () => {
  assert.ok(REQUEST_BODY.length >= 180 && REQUEST_BODY.length <= 260, `${REQUEST_BODY.length}`)
  assert.ok(ANSWER_BODY.length >= 280 && ANSWER_BODY.length <= 340, `${ANSWER_BODY.length}`)
  assert.is(Buffer.byteLength(REQUEST_BODY), REQUEST_BODY.length)
  assert.is(Buffer.byteLength(ANSWER_BODY), ANSWER_BODY.length)
  assert.not.throws(() => JSON.parse(REQUEST_BODY))
})

fixtures('do not break out of the quotes of the script for wrk', () => {
  assert.not.match(REQUEST_BODY, /['\\]/)
})

fixtures('frame an event as one HTTP chunk of the size it declares', () => {
  const chunk = eventChunk(1_234_567.89)
  const [size = '', rest = ''] = chunk.split(/\r\n(.*)/s)
  assert.is(rest.length - 2, Number.parseInt(size, 16))
  assert.ok(rest.endsWith('\n\n\r\n'))
  assert.not.throws(() => JSON.parse(rest.slice('data: '.length)))
})

fixtures('give back the stamp they were sent with', () => {
  assert.equal(stampsIn(eventChunk(1_234_567.89)), [1_234_567])
})

fixtures('give back every stamp of a read, and none that is cut off', () => {
  const two = eventChunk(11) + eventChunk(22)
  assert.equal(stampsIn(two), [11, 22])
  const cut = two.slice(0, two.lastIndexOf('","choices') - 1)
  assert.equal(stampsIn(cut), [11])
  assert.equal(stampsIn(''), [])
})

fixtures.run()
