// When the parts of a body came, and where they stand in what is shown of it.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ArrivalLog, BodyCopy, MAX_ARRIVALS, remapArrivals } from '../../lib/trace/trace-bodies.ts'
import type { ChunkArrival } from '../../lib/core/trace-events.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'

const arrivals = suite('arrivals')

arrivals('tells how many bytes were there when, in microseconds', () => {
  const seen = new ArrivalLog(100)
  seen.add(3, 100.5)
  seen.add(9, 102.25)
  assert.equal(seen.list, [
    [3, 500],
    [9, 2_250],
  ])
  assert.is(seen.step, 1)
})

arrivals('never goes before the request', () => {
  const seen = new ArrivalLog(100)
  seen.add(3, 99)
  assert.equal(seen.list, [[3, 0]])
})

arrivals('grows coarser above the bound, never longer, and always has the last', () => {
  const seen = new ArrivalLog(0)
  for (let count = 1; count <= 10 * MAX_ARRIVALS; count++) {
    seen.add(count, count)
    assert.ok(seen.list.length <= MAX_ARRIVALS)
    assert.equal(seen.list.at(-1), [count, count * 1_000])
  }
  assert.is(seen.step, 16)
  const whole = seen.list.slice(0, -1)
  assert.ok(whole.every(([bytes], at) => bytes === (at + 1) * 16))
})

/** Where the line behind each mark is, in both. */
const KEPT = Buffer.from('data: {"token":"abcdefghijkl"}\n\ndata: b\n\ndata: c\n\n')
const SHOWN = Buffer.from('data: {"token":"<redacted>"}\n\ndata: b\n\ndata: c\n\n')

arrivals('stand at the same lines where something was hidden', () => {
  const marks = [32, 41, 50].map((bytes, at): ChunkArrival => [bytes, at])
  assert.equal(
    remapArrivals(SHOWN, KEPT, marks).map(([bytes]) => SHOWN.subarray(0, bytes).toString()),
    [
      'data: {"token":"<redacted>"}\n\n',
      'data: {"token":"<redacted>"}\n\ndata: b\n\n',
      SHOWN.toString(),
    ],
  )
})

arrivals('in the middle of a line stay there', () => {
  for (let bytes = 1; bytes <= KEPT.length; bytes++) {
    const [[place] = [0]] = remapArrivals(SHOWN, KEPT, [[bytes, 0]])
    const lines = (text: Buffer): number => text.toString().split('\n').length
    assert.is(lines(SHOWN.subarray(0, place)), lines(KEPT.subarray(0, bytes)))
  }
})

arrivals('of what was not kept come behind what is shown', () => {
  const marks: ChunkArrival[] = [[KEPT.length + 7, 3]]
  assert.equal(remapArrivals(SHOWN, KEPT, marks), [[SHOWN.length + 7, 3]])
  assert.equal(remapArrivals(KEPT, KEPT, marks), marks)
})

arrivals('are not told where lines are not the same', () => {
  assert.equal(remapArrivals(Buffer.from('a'), Buffer.from('a\nb'), [[3, 0]]), [])
  assert.equal(remapArrivals(Buffer.from('a\nb\nc'), Buffer.from('a\nb'), [[3, 0]]), [])
})

arrivals('are written with the body that was watched from a start, and with no other', () => {
  const told = (started: number | null): Record<string, unknown> => {
    const texts: string[] = []
    const copy = new BodyCopy(
      100,
      (done) => {
        const message = done.snapshot('response')
        texts.push(formatTraceEvent({ eventStart: null, eventEnd: 5, severity: 'info', message }))
      },
      started,
    )
    for (const text of ['one', 'three']) copy.chunk(Buffer.from(text), 0, text.length)
    copy.end('complete')
    return (JSON.parse(texts[0]!) as { message: Record<string, unknown> }).message
  }
  const marks = told(performance.now())['arrivals'] as ChunkArrival[]
  assert.equal(
    marks.map(([bytes]) => bytes),
    [3, 8],
  )
  assert.ok(marks.every(([, at]) => Number.isInteger(at)))
  assert.not.ok('arrivals' in told(null))
  assert.not.ok('arrivalStep' in told(0))
})

arrivals.run()
