// What the page watches and keeps while other pages are shown, and what it says when that fails.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Tracer } from '../../../lib/page/trace/tracer.ts'
import type { Watch } from '../../../lib/page/trace/tracer.ts'
import { fileNote } from '../../../lib/page/trace/trace-files.ts'
import { loadLines } from '../../../lib/trace-view/trace-file.ts'
import { deadline } from '../../support/deadline.ts'
import { SAMPLE_LINES } from '../../support/ctl/sample-trace.ts'

const WAIT_MS = 30_000
const EVENTS = SAMPLE_LINES.map((line) => `data: ${line}\n\n`).join('')

/** A stream that the test feeds. */
function fed(): { readonly open: () => Promise<Response>; readonly feed: Feed } {
  let feed: Feed | undefined
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (feed = controller) })
  return { open: () => Promise.resolve(new Response(body)), feed: feed! }
}

type Feed = ReadableStreamDefaultController<Uint8Array>

function state(tracer: Tracer, wanted: Watch['state']): Promise<void> {
  const reached = new Promise<void>((resolve) => {
    const selection = (): void => {
      if (tracer.watch.value.state === wanted) resolve()
    }
    tracer.watch.listen(selection)
    selection()
  })
  return deadline(reached, WAIT_MS, wanted)
}

const tracing = suite('page/tracer')

tracing('a request can be sent once the trace is ready, and its trace is shown', async () => {
  const { open, feed } = fed()
  const tracer = new Tracer(open)
  const ready = await deadline(tracer.start('', 'once'), WAIT_MS, 'ready')
  assert.is(ready, 'ready')
  assert.is(tracer.watch.value.state, 'waiting')
  feed.enqueue(Buffer.from(EVENTS))
  feed.close()
  await state(tracer, 'idle')
  const [trace] = tracer.traces.value
  assert.is(trace!.steps.length, SAMPLE_LINES.length)
  assert.is(trace!.state, 'complete')
  assert.is(tracer.selection.value.id, trace!.id)
})

tracing('a lost gateway is reported in one sentence', async () => {
  const { open, feed } = fed()
  const tracer = new Tracer(open)
  await deadline(tracer.start('', 'once'), WAIT_MS, 'ready')
  feed.error(new TypeError('network error'))
  await state(tracer, 'failed')
  assert.equal(tracer.watch.value, {
    state: 'failed',
    error: 'The connection to the gateway was lost. Trace again.',
  })
  const gone = new Tracer(() => Promise.reject(new TypeError('Failed to fetch')))
  assert.is(await deadline(gone.start('', 'once'), WAIT_MS, 'refusal'), 'refused')
})

tracing(
  'a refusal is reported with the text of the gateway, and a stop is not an error',
  async () => {
    const refusing = new Tracer(() => Promise.reject(new Error('no such name')))
    await deadline(refusing.start('x', 'once'), WAIT_MS, 'refusal')
    assert.equal(refusing.watch.value, { state: 'failed', error: 'no such name' })
    const { open, feed } = fed()
    const tracer = new Tracer(open)
    await deadline(tracer.start('', 'once'), WAIT_MS, 'ready')
    tracer.stop()
    feed.close()
    await state(tracer, 'idle')
  },
)

tracing('a file is shown from its first trace, and its traces keep the file name', () => {
  const tracer = new Tracer(() => Promise.reject(new Error('no request is expected')))
  const { traces } = loadLines(`${SAMPLE_LINES.join('\n')}\n`.repeat(2))
  tracer.add('two.jsonl', traces)
  assert.equal(
    tracer.traces.value.map(({ id, file, state: is }) => [id, file, is]),
    [
      [2, 'two.jsonl', 'complete'],
      [1, 'two.jsonl', 'complete'],
    ],
  )
  assert.is(tracer.selection.value.id, 2)
})

tracing('a file that is not a trace is reported once', () => {
  const noteOf = (text: string): unknown => {
    const { traces, ...pause } = loadLines(text)
    return fileNote('bad.jsonl', { ...pause, found: traces.length })
  }
  assert.equal(noteOf('not json\n'), {
    title: 'bad.jsonl is not a saved trace: line 1 is not JSON.',
    problems: [],
  })
  assert.equal(noteOf(''), { title: 'bad.jsonl is empty.', problems: [] })
  assert.equal(noteOf(`${SAMPLE_LINES[0]}\n{}\n`), {
    title: 'bad.jsonl: 1 line is not a trace event.',
    problems: ['line 2 is not a trace event'],
  })
  assert.is(noteOf(SAMPLE_LINES[0]!), null)
})

tracing.run()
