// A trace for a reader that is slow, or reads nothing.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BodySnapshot } from '../../lib/trace/trace-bodies.ts'
import type { TraceMessage, TraceEvent } from '../../lib/core/trace-events.ts'
import {
  MAX_QUEUED_TRACE_BYTES,
  MAX_QUEUED_TRACE_EVENTS,
  TraceStream,
} from '../../lib/trace/trace-watchers.ts'
import { StalledWriter } from '../support/stalled-writer.ts'

const stream = suite('trace stream')

function open(): [StalledWriter, TraceStream] {
  const out = new StalledWriter()
  return [out, new TraceStream(out)]
}

function eventsIn({ text }: StalledWriter): TraceEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as TraceEvent)
}

/** Types of the events, with the counts of dropped ones. */
function typesIn(out: StalledWriter): string[] {
  return eventsIn(out).map(({ message }) =>
    message.type === 'eventsDropped' ? `dropped ${message.count}` : message.type,
  )
}

function event(message: TraceMessage): TraceEvent {
  return { eventStart: null, eventEnd: 7, severity: 'info', message }
}

const STARTED = event({ type: 'requestStarted' })
const FINISHED = event({ type: 'requestFinished', status: 200, error: null })

stream('a reader that takes nothing misses events, and gets their number', () => {
  const [out, trace] = open()
  for (let count = 0; count < MAX_QUEUED_TRACE_EVENTS + 3; count++) trace.onEvent(STARTED)
  trace.onEvent(FINISHED)
  trace.onFinished()
  assert.equal(out.written, [': ready\n\n'])
  out.drain()
  assert.is(typesIn(out).length, MAX_QUEUED_TRACE_EVENTS + 2)
  assert.equal(typesIn(out).slice(-3), ['requestStarted', 'dropped 3', 'requestFinished'])
  assert.is(out.state, 'ended')
})

stream('bodies count by their size', () => {
  const [out, trace] = open()
  const body = (): TraceEvent => {
    const bytes = Buffer.alloc((MAX_QUEUED_TRACE_BYTES / 8) * 3)
    return event(new BodySnapshot('response', bytes, bytes.length))
  }
  for (let count = 0; count < 4; count++) trace.onEvent(body())
  trace.onEvent(FINISHED)
  trace.onFinished()
  out.drain()
  assert.equal(typesIn(out), ['bodySnapshot', 'bodySnapshot', 'dropped 2', 'requestFinished'])
})

stream('a reader that catches up gets the rest', () => {
  const [out, trace] = open()
  for (let count = 0; count <= MAX_QUEUED_TRACE_EVENTS; count++) trace.onEvent(STARTED)
  out.drain()
  trace.onEvent(STARTED)
  trace.onFinished()
  out.emit('drain')
  assert.equal(typesIn(out).slice(-2), ['dropped 1', 'requestStarted'])
})

stream('a closed reader gets nothing, and holds nothing', () => {
  const [out, trace] = open()
  trace.onEvent(STARTED)
  trace.close()
  trace.onEvent(STARTED)
  trace.onFinished()
  out.drain()
  assert.equal(typesIn(out), [])
  assert.is(out.state, 'open')
})

class UnformattableBody extends BodySnapshot {
  override get body(): string {
    throw new RangeError('Invalid string length')
  }
}

stream('a body that cannot be formatted is sent without content, and counted', () => {
  const [out, trace] = open()
  trace.onEvent(event(new UnformattableBody('response', Buffer.from('a'), 1)))
  trace.onEvent(FINISHED)
  trace.onFinished()
  out.drain()
  assert.equal(typesIn(out), ['bodySnapshot', 'dropped 1', 'requestFinished'])
  const [{ message }] = eventsIn(out) as [TraceEvent]
  assert.equal(message, {
    type: 'bodySnapshot',
    stage: 'response',
    body: '',
    bytes: 1,
    truncated: true,
  })
})

stream.run()
