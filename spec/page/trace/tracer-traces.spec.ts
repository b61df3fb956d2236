// The traces that the page keeps: how many, how they are called, and where to selection first.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { stepOf } from '../../../lib/trace-view/trace-event.ts'
import type { Step } from '../../../lib/trace-view/trace-event.ts'
import {
  MAX_TRACES,
  endTrace,
  fileName,
  firstStepOf,
  startTimeOf,
  titleOf,
  withSteps,
  withTrace,
} from '../../../lib/page/trace/tracer.ts'
import type { KeptTrace } from '../../../lib/page/trace/tracer.ts'
import { SAMPLE_LINES } from '../../support/ctl/sample-trace.ts'

const SAMPLE = SAMPLE_LINES.map(stepOf)

function kept(id: number, steps: readonly Step[] = SAMPLE): KeptTrace {
  return { id, file: null, at: 0, steps, left: 0, state: 'running' }
}

const traces = suite('page/tracer-traces')

traces('the newest is first, and the oldest is removed', () => {
  let list: readonly KeptTrace[] = []
  for (let id = 1; id <= MAX_TRACES + 5; id++) list = withTrace(list, kept(id))
  assert.is(list.length, MAX_TRACES)
  assert.is(list[0]!.id, MAX_TRACES + 5)
  assert.is(list.at(-1)!.id, 6)
})

traces('a very long trace removes others, but not itself', () => {
  const long: Step = { ...SAMPLE[0]!, text: 'x'.repeat(80 * 1024 * 1024) }
  const list = withTrace(withTrace(withTrace([], kept(1)), kept(2, [long])), kept(3, [long, long]))
  assert.equal(
    list.map(({ id }) => id),
    [3],
  )
})

traces('grows up to a bound, and counts what was left out', () => {
  let list = withTrace([], kept(1, []))
  list = withSteps(list, 1, SAMPLE)
  list = withSteps(list, 2, SAMPLE)
  assert.is(list[0]!.steps.length, SAMPLE.length)
  list = withSteps(list, 1, Array<Step>(10_000).fill(SAMPLE[1]!))
  assert.is(list[0]!.steps.length, 10_000)
  assert.is(list[0]!.left, SAMPLE.length)
})

traces('a trace without its last event is incomplete', () => {
  const list = [kept(2), kept(1, SAMPLE.slice(0, 5))]
  assert.equal(
    endTrace(endTrace(list, 1), 2).map(({ state }) => state),
    ['complete', 'incomplete'],
  )
  assert.is(endTrace(list, 3)[0]!.state, 'running')
})

traces('is called by its request, its status and its time', () => {
  assert.equal(titleOf(kept(1)), {
    method: 'POST',
    path: '/v1/items',
    status: 404,
    time: '15.0 ms',
  })
  assert.equal(titleOf(kept(1, [])), { method: '', path: '', status: null, time: '' })
  assert.is(fileName(kept(1)), 'trace-post-v1-items-404.jsonl')
  assert.is(fileName(kept(7, [])), 'trace-7.jsonl')
})

traces('a name of a file has nothing in it that is no letter', () => {
  const state = { request: { method: '../', path: `/a b/../${'ä<x>'.repeat(60)}` } }
  const message = { type: 'requestSnapshot', requestState: state }
  assert.match(
    fileName(kept(1, [stepOf(JSON.stringify({ message }))])),
    /^trace-[a-z0-9-]{1,80}\.jsonl$/,
  )
})

traces('shows the step that decided the outcome, the response, or the latest one', () => {
  const at = (steps: readonly Step[], state: KeptTrace['state']): number =>
    firstStepOf({ ...kept(1, steps), state })
  assert.is(at(SAMPLE, 'complete'), 9)
  assert.is(at(SAMPLE.slice(0, 5), 'running'), 4)
  assert.is(at(SAMPLE.slice(0, 12), 'incomplete'), 11)
  const good = JSON.stringify({ message: { type: 'requestFinished', status: 200, error: null } })
  assert.is(at([...SAMPLE.slice(0, 2), stepOf(good)], 'complete'), 2)
})

traces('began when its request says, or when it was seen', () => {
  const request = { method: 'GET', startTime: '2026-11-15T13:32:51.892Z' }
  const message = { type: 'requestSnapshot', requestState: { request } }
  const steps = [stepOf(JSON.stringify({ message }))]
  const at = Date.parse(request.startTime)
  assert.is(startTimeOf({ ...kept(1, steps), file: 'a.jsonl' }), at)
  assert.is(startTimeOf({ ...kept(1, []), at: 7 }), 7)
  assert.is(startTimeOf({ ...kept(1, []), file: 'a.jsonl' }), null)
})

traces.run()
