// Traces in files, and the curl command for a traced request.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildCurlCommand } from '../../lib/trace-view/curl-command.ts'
import { linesText, loadLines } from '../../lib/trace-view/trace-file.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import type { Step } from '../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'

const files = suite('trace files')

files('loads what was saved', () => {
  const steps = SAMPLE_LINES.map(stepOf)
  const { traces, wrong, left } = loadLines(linesText(steps))
  assert.equal(traces, [steps])
  assert.equal([wrong, left], [0, 0])
})

files('loads several traces, with empty lines and CRLF', () => {
  const text = [...SAMPLE_LINES, '', ...SAMPLE_LINES].join('\r\n')
  const { traces } = loadLines(text)
  assert.equal(
    traces.map(({ length }) => length),
    [SAMPLE_LINES.length, SAMPLE_LINES.length],
  )
  assert.is(traces[1]![0]!.text, SAMPLE_LINES[0])
})

files('reports the lines that are not events, and loads the others', () => {
  const { traces, problems, wrong } = loadLines(`${SAMPLE_LINES[0]}\nnonsense\n{}\n[]\nnull\n`)
  assert.is(traces[0]!.length, 1)
  assert.is(wrong, 4)
  assert.equal(problems, [
    'line 2 is not JSON',
    'line 3 is not a trace event',
    'line 4 is not a trace event',
    'line 5 is not a trace event',
  ])
})

files('limits the number of problems and of events', () => {
  const { problems, wrong } = loadLines('x\n'.repeat(50))
  assert.is(problems.length, 10)
  assert.is(wrong, 50)
  const { traces, left } = loadLines(`${SAMPLE_LINES[1]}\n`.repeat(10_002))
  assert.is(traces[0]!.length, 10_000)
  assert.is(left, 2)
  assert.equal(loadLines('').traces, [])
})

function request(fields: object, ...more: object[]): Step[] {
  const state = { request: { method: 'GET', uri: 'http://a/b', headers: {}, ...fields } }
  const first = { type: 'requestSnapshot', stage: 'initial request', requestState: state }
  return [first, ...more].map((message) => stepOf(JSON.stringify({ eventEnd: 0, message })))
}

const sent = (text: string, more: object = {}): object => {
  const body = Buffer.from(text).toString('base64')
  return { type: 'bodySnapshot', stage: 'final request', body, ...more }
}

const command = (steps: readonly Step[]): string =>
  buildCurlCommand(steps)!.command.replaceAll(' \\\n  ', ' ')

files('builds the command of a request', () => {
  const headers = { host: 'a', accept: '*/*', 'x-a': ['1', "it's"], 'content-length': '3' }
  assert.is(
    command(request({ headers })),
    String.raw`curl http://a/b -H 'accept: */*' -H 'x-a: 1' -H 'x-a: it'\''s'`,
  )
  assert.is(
    command(request({ headers: { 'accept-encoding': 'br' } })),
    "curl http://a/b --compressed -H 'accept-encoding: br'",
  )
  assert.is(command(request({ method: 'DELETE' })), 'curl http://a/b -X DELETE')
  assert.is(
    command(request({ method: 'POST' }, sent('{"a":\'$(x)\'}'))),
    String.raw`curl http://a/b --data-raw '{"a":'\''$(x)'\''}'`,
  )
  assert.is(command(request({ method: 'PUT' }, sent('a'))), 'curl http://a/b -X PUT --data-raw a')
})

files('keeps brackets and dot segments in the URL', () => {
  assert.is(
    command(request({ uri: 'http://a/[1-9]/../x?y=1&z=$z' })),
    "curl 'http://a/[1-9]/../x?y=1&z=$z' --globoff --path-as-is",
  )
})

files('replaces redacted values by variables', () => {
  const headers = { authorization: '<redacted>', 'x-$(a)-key': '<redacted>' }
  const steps = request({ uri: 'http://a/?key=<redacted>', headers })
  assert.is(
    command(steps),
    `curl 'http://a/?key=<redacted>' -H "authorization: $AUTHORIZATION" -H "x-a-key: $X___A__KEY"`,
  )
  assert.equal(buildCurlCommand(steps)!.notes, [
    'A value in the URL was redacted: fill it in.',
    'The header authorization was redacted: set $AUTHORIZATION.',
    'The header x-$(a)-key was redacted: set $X___A__KEY.',
  ])
})

files('leaves out a body that is truncated, too long or not text, and says so', () => {
  for (const odd of [sent('a', { truncated: true }), sent('\0'), sent('x'.repeat(40_000))]) {
    const steps = request({ method: 'POST' }, odd)
    assert.is(command(steps), 'curl http://a/b -X POST')
    assert.match(buildCurlCommand(steps)!.notes[0]!, /left out/)
  }
})

files('returns null without a request', () => {
  assert.is(buildCurlCommand([]), null)
  assert.is(
    buildCurlCommand([stepOf('{"message":{"type":"requestSnapshot","requestState":7}}')]),
    null,
  )
})

files.run()
