// When the parts of a body arrived, and their positions in the redacted body.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ArrivalLog, BodyCopy, MAX_ARRIVALS, remapArrivals } from '../../lib/trace/trace-bodies.ts'
import type { ChunkArrival } from '../../lib/core/trace-events.ts'
import { formatTraceEvent } from '../../lib/core/trace-events.ts'

const arrivals = suite('arrivals')

arrivals('record how many bytes had arrived at which microsecond', () => {
  const log = new ArrivalLog(100)
  log.add(3, 100.5)
  log.add(9, 102.25)
  assert.equal(log.list, [
    [3, 500],
    [9, 2_250],
  ])
  assert.is(log.step, 1)
})

arrivals('are never before the request', () => {
  const log = new ArrivalLog(100)
  log.add(3, 99)
  assert.equal(log.list, [[3, 0]])
})

arrivals('get coarser above the bound, never more, and always include the last', () => {
  const log = new ArrivalLog(0)
  for (let count = 1; count <= 10 * MAX_ARRIVALS; count++) {
    log.add(count, count)
    assert.ok(log.list.length <= MAX_ARRIVALS)
    assert.equal(log.list.at(-1), [count, count * 1_000])
  }
  assert.is(log.step, 16)
  const whole = log.list.slice(0, -1)
  assert.ok(whole.every(([bytes], at) => bytes === (at + 1) * 16))
})

/** The same lines, before and after redaction. */
const ORIGINAL = Buffer.from('data: {"token":"abcdefghijkl"}\n\ndata: b\n\ndata: c\n\n')
const REDACTED = Buffer.from('data: {"token":"<redacted>"}\n\ndata: b\n\ndata: c\n\n')

arrivals('are mapped to the same lines of the redacted body', () => {
  const marks = [32, 41, 50].map((bytes, at): ChunkArrival => [bytes, at])
  assert.equal(
    remapArrivals(REDACTED, ORIGINAL, marks).map(([bytes]) =>
      REDACTED.subarray(0, bytes).toString(),
    ),
    [
      'data: {"token":"<redacted>"}\n\n',
      'data: {"token":"<redacted>"}\n\ndata: b\n\n',
      REDACTED.toString(),
    ],
  )
})

arrivals('in the middle of a line stay in it', () => {
  for (let bytes = 1; bytes <= ORIGINAL.length; bytes++) {
    const [[position] = [0]] = remapArrivals(REDACTED, ORIGINAL, [[bytes, 0]])
    const lines = (text: Buffer): number => text.toString().split('\n').length
    assert.is(lines(REDACTED.subarray(0, position)), lines(ORIGINAL.subarray(0, bytes)))
  }
})

arrivals('of bytes that were not copied follow the redacted body', () => {
  const marks: ChunkArrival[] = [[ORIGINAL.length + 7, 3]]
  assert.equal(remapArrivals(REDACTED, ORIGINAL, marks), [[REDACTED.length + 7, 3]])
  assert.equal(remapArrivals(ORIGINAL, ORIGINAL, marks), marks)
})

arrivals('are omitted if the lines differ', () => {
  assert.equal(remapArrivals(Buffer.from('a'), Buffer.from('a\nb'), [[3, 0]]), [])
  assert.equal(remapArrivals(Buffer.from('a\nb\nc'), Buffer.from('a\nb'), [[3, 0]]), [])
})

arrivals('are part of a body event only if a start time is given', () => {
  const messageFor = (started: number | null): Record<string, unknown> => {
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
  const marks = messageFor(performance.now())['arrivals'] as ChunkArrival[]
  assert.equal(
    marks.map(([bytes]) => bytes),
    [3, 8],
  )
  assert.ok(marks.every(([, at]) => Number.isInteger(at)))
  assert.not.ok('arrivals' in messageFor(null))
  assert.not.ok('arrivalStep' in messageFor(0))
})

arrivals.run()
