// The trace screen without a terminal: keys in, lines out.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addStep, completeStream, createModel, handleKey } from '../../lib/ctl/screen-model.ts'
import type { ScreenModel, ScreenSize } from '../../lib/ctl/screen-model.ts'
import { createTheme, render, timingBar } from '../../lib/ctl/screen-render.ts'
import { widthOf } from '../../lib/ctl/terminal-text.ts'
import { changedLines, keyName } from '../../lib/ctl/trace-screen.ts'
import { stepOf } from '../../lib/trace-view/trace-event.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'

const PLAIN = createTheme({ NO_COLOR: '1', LANG: 'en_US.UTF-8', TERM: 'xterm' })
const COLOUR = createTheme({ LANG: 'en_US.UTF-8', TERM: 'xterm' })
const SMALL: ScreenSize = { columns: 80, rows: 24 }
const WIDE: ScreenSize = { columns: 160, rows: 40 }

function sample(size: ScreenSize = SMALL, lines: readonly string[] = SAMPLE_LINES): ScreenModel {
  const empty = createModel('127.0.0.1:15000', size, 'waiting')
  return lines.map(stepOf).reduce(addStep, empty)
}

function keys(model: ScreenModel, ...names: string[]): ScreenModel {
  return names.reduce(handleKey, model)
}

function shown(model: ScreenModel): string[] {
  return render(model, PLAIN).map((line) => line.trimEnd())
}

const screen = suite('trace screen')

screen('fills every screen size exactly', () => {
  for (const columns of [1, 10, 20, 37, 80, 119, 120, 200])
    for (const rows of [1, 4, 8, 9, 24, 60])
      for (const model of [
        sample({ columns, rows }),
        completeStream(sample({ columns, rows })),
        createModel('x', { columns, rows }, 'waiting'),
      ]) {
        const lines = render(model, PLAIN)
        assert.is(lines.length, rows, `${columns}x${rows}`)
        for (const line of lines) assert.is(widthOf(line), columns, `${columns}x${rows} ${line}`)
      }
})

screen('shows list, details and keys on 80 columns and 24 rows', () => {
  const lines = shown(keys(sample(), 'down', 'down', 'down', 'down', 'down', 'down', 'd'))
  assert.is(lines[0], 'Events 127.0.0.1:15000' + ' '.repeat(49) + '13 events')
  assert.is(lines[1], '   # Type               Time Timing     Summary')
  assert.is(
    lines[6],
    '>  7 Snapshot          40 µs ▏          route policies: POST http://api.example.',
  )
  assert.match(lines[10]!, /^ Details: snapshot diff ─+ 1\/2$/)
  assert.is(lines[12], '+ request.headers.x-user: "alice"')
  assert.match(lines[23]!, /^q quit {2}Tab pane {2}.* w save$/)
})

screen('shows the details to the right of the list on a wide screen', () => {
  const lines = shown(sample(WIDE))
  assert.match(lines[1]!, /^ {3}# Type .* Summary .*│ Details: raw event, YAML ─+ 1\/5$/)
  assert.match(lines[2]!, /^> {2}1 Request Start .* request accepted .*│eventStart: null$/)
})

screen('shows the state of the stream', () => {
  const model = createModel('t', SMALL, 'waiting')
  assert.match(shown(model)[0]!, /^Events t .* waiting for trace data$/)
  assert.match(
    shown({ ...model, stream: 'sent' })[0]!,
    /request sent, waiting for trace to complete$/,
  )
  assert.match(shown(completeStream(sample()))[0]!, /13 events, stream complete, press q to exit$/)
})

screen('explains the outcome unless there is a notice', () => {
  const why = '404 after 15.0 ms: sent by backend 127.0.0.1:8080'
  const over = completeStream(sample())
  assert.is(shown(sample())[22], '')
  assert.is(shown(over)[22], why)
  assert.is(shown(keys(over, '/', 'z'))[22], '/z_')
  assert.is(shown(keys(over, '/', 'z', 'z', 'return'))[22], 'not found: zz')
  assert.is(shown(keys(over, '/', 'z', 'z', 'return', 'down'))[22], why)
  assert.ok(render(over, COLOUR)[22]!.startsWith('\x1b[33m404 after'))
  const narrow = render(completeStream(sample({ columns: 40, rows: 24 })), PLAIN)
  assert.is(narrow[22], '404 after 15.0 ms: sent by backend 127.…')
  assert.is(shown(completeStream(sample(SMALL, SAMPLE_LINES.slice(0, -1))))[22], '')
})

screen('moves through the list and stops at its ends', () => {
  const at = (...names: string[]): number => keys(sample(), ...names).selected
  assert.is(at('up'), 0)
  assert.is(at('down', 'j', 'k'), 1)
  assert.is(at('end'), 12)
  assert.is(at('G', 'down', 'g'), 0)
  assert.is(at('pagedown'), 7)
  assert.is(at('end', 'pageup'), 5)
})

screen('keeps the selected event visible in a long list', () => {
  const lines = Array.from({ length: 200 }, (_, at) =>
    JSON.stringify({ message: { type: `t${at}` } }),
  )
  let model = sample(SMALL, lines)
  for (let at = 0; at < 200; at++) {
    assert.ok(
      shown(model).some((line) => line.startsWith('>') && line.includes(` t${at} `)),
      `${at}`,
    )
    model = handleKey(model, 'down')
  }
})

screen('switches to the details with Tab and scrolls to their last page', () => {
  const model = keys(sample(), 'down', 'tab')
  assert.is(model.pane, 'details')
  assert.is(keys(model, 'down').scroll, 1)
  assert.is(keys(model, 'down').selected, 1)
  const end = keys(model, 'end')
  assert.is(end.scroll, end.details.length - 11)
  assert.is(keys(end, 'home').scroll, 0)
  assert.is(keys(end, 'tab', 'down').scroll, 0)
  assert.is(keys(sample(), 'return').pane, 'details')
})

screen('moves the details sideways', () => {
  const model = keys(sample(), 'end', 'right')
  assert.is(shown(model)[11], 'rt: null')
  assert.is(shown(keys(model, 'left', 'left'))[11], 'eventStart: null')
})

screen('changes the mode and format of the details', () => {
  const model = keys(sample(), 'down', 'down', 'down')
  assert.is(keys(model, 's').details[0], '# gateway policies (step 4)')
  assert.is(keys(model, 'd').details[1], 'no changes')
  assert.is(keys(model, 'f').details[0], '{')
  assert.is(keys(model, 'f', 'f', 'd', 'e').details[0], 'eventStart: null')
  assert.is(keys(model, 's', 'down').mode, 'snapshot')
})

screen('searches the events and continues at the start', () => {
  const typed = keys(sample(), '/', 'A', 'l', 'i', 'x', 'backspace', 'c', 'e')
  assert.is(typed.typing, 'Alice')
  assert.is(shown(typed)[22], '/Alice_')
  const found = keys(typed, 'return')
  assert.is(found.selected, 5)
  assert.is(keys(found, 'n').selected, 6)
  assert.is(keys(found, 'n', 'n').selected, 10)
  assert.is(keys(found, 'n', 'n', 'n').selected, 5)
  assert.is(keys(found, 'N').selected, 10)
})

screen('finds an event by its type, as the list or the JSON calls it', () => {
  const search = (...words: string[]) => {
    const letters = words
      .map((word) => word.split(''))
      .flatMap((word, i) => (i === 0 ? word : ['space', ...word]))
    return keys(sample(), '/', ...letters, 'return')
  }
  const at = SAMPLE_LINES.findIndex((line) => line.includes('"backendCallResult"'))
  assert.ok(at > 0)
  assert.is(search('backendCallResult').selected, at)
  assert.is(search('backend', 'result').selected, at)
  assert.is(search('backend', 'results').notice, 'not found: backend results')
})

screen('gives the time of a stream to the response body, not to the usage after it', () => {
  const line = (type: string, eventEnd: number, more = {}): string =>
    JSON.stringify({ eventStart: null, eventEnd, severity: 'info', message: { type, ...more } })
  const model = sample(SMALL, [
    line('responseSnapshot', 2_000, { stage: 'final response' }),
    line('llmUsage', 902_000, { usage: { input: 1, output: 2 } }),
    line('bodySnapshot', 902_100, { stage: 'response', body: '' }),
    line('requestFinished', 902_200),
  ])
  const lines = shown(model)
  assert.match(lines[3]!, /LLM Usage +0 µs/)
  assert.match(lines[4]!, /Body Snapshot +900\.1 ms/)
  assert.match(lines[5]!, /Request Done +100 µs/)
})

screen('searches the lines of the details', () => {
  const model = keys(sample(), 'down', 's', 'tab', '/', 'h', 'o', 's', 't', 'return')
  assert.is(model.details[model.scroll], '  host: api.example.com')
})

screen('reports a search without a result', () => {
  const model = keys(sample(), '/', 'z', 'space', 'z', 'return')
  assert.is(shown(model)[22], 'not found: z z')
  assert.is(shown(handleKey(model, 'down'))[22], '')
  assert.is(keys(sample(), '/', 'return').selected, 0)
})

screen('finds nothing before the first event', () => {
  const empty = createModel('x', SMALL, 'waiting')
  for (const model of [empty, keys(empty, 'tab'), { ...sample(), details: [], pane: 'details' }])
    for (const more of [[], ['n'], ['N']])
      assert.is(keys(model as ScreenModel, '/', 'x', 'return', ...more).notice, 'not found: x')
})

screen('types letters into the search instead of running their actions', () => {
  const model = keys(sample(), '/', 'q', 'w', 'c')
  assert.is(model.command, 'none')
  assert.is(keys(model, 'escape').command, 'none')
  assert.is(keys(model, 'escape').typing, null)
  assert.is(keys(model, 'ctrl-c').command, 'quit')
  assert.is(keys(model, 'up', 'f5').typing, 'qwc')
})

screen('requests quit, copy and save from the terminal', () => {
  for (const key of ['q', 'escape', 'ctrl-c']) assert.is(keys(sample(), key).command, 'quit')
  assert.is(keys(sample(), 'c').command, 'copy')
  assert.is(keys(sample(), 'w').command, 'save')
  assert.is(keys(sample(), 'f9').command, 'none')
})

screen('accepts every key before the first event', () => {
  const empty = createModel('x', SMALL, 'waiting')
  for (const key of ['up', 'down', 'end', 'pagedown', 'tab', 's', 'd', 'f', 'n', 'return', 'left'])
    for (const pane of ['events', 'details'] as const) {
      const model = handleKey({ ...empty, pane, search: 'a' }, key)
      assert.is(render(model, PLAIN).length, 24, key)
    }
})

screen('shows severities in colour, and no colour if disabled', () => {
  const lines = render(keys(sample(), 'end'), COLOUR)
  const line = (word: string): string => lines.find((text) => text.includes(word))!
  assert.ok(line('Authz').startsWith('\x1b[32m'))
  assert.ok(line('Backend Result').startsWith('\x1b[33m'))
  assert.ok(line('Request Done').startsWith('\x1b[7m'))
  for (const theme of [PLAIN, createTheme({ TERM: 'dumb' }), createTheme({})])
    assert.not.match(render(sample(), theme).join(''), '\x1b')
})

screen('uses ASCII symbols without Unicode', () => {
  const plain = createTheme({ NO_COLOR: '1', LANG: 'C' })
  assert.match(render(sample(), plain).join('\n'), /Details: raw event, YAML -{9,} 1\/5/)
})

screen('escapes control characters from outside', () => {
  const evil = '\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r\n'
  const request = { method: evil, uri: evil, headers: { [evil]: evil } }
  const lines = [
    { message: { type: evil, a: evil } },
    { message: { type: 'requestSnapshot', stage: evil, requestState: { request } } },
    { message: { type: 'requestSnapshot', stage: 'b', requestState: {} } },
    { message: { type: 'bodySnapshot', stage: evil, body: Buffer.from(evil).toString('base64') } },
    { message: { type: 'policy', kind: evil, result: evil } },
    { message: { type: 'requestFinished', status: null, error: evil } },
  ].map((event) => JSON.stringify(event))
  for (const size of [SMALL, WIDE])
    for (const mode of ['e', 's', 'd'])
      for (const format of ['f', ''])
        for (let at = 0; at < lines.length; at++) {
          const start = {
            ...completeStream(sample(size, [...lines, evil])),
            title: evil,
            notice: evil,
          }
          const moved = Array<string>(at)
            .fill('down')
            .reduce(handleKey, keys(start, mode, format))
          for (const model of [start, moved])
            assert.not.match(render(model, PLAIN).join(''), /[\p{Cc}\p{Cf}]/u)
        }
})

screen('highlights the search text', () => {
  const model = { ...keys(sample(), 'down'), search: 'POST' }
  assert.match(render(keys(model, 's'), COLOUR).join('\n'), 'method: \x1b[30m\x1b[43mPOST')
})

screen('draws when a step ran and how long it took', () => {
  const bar = (from: number, to: number): string => timingBar({ from, to }, 100, 10, PLAIN)
  assert.is(bar(0, 100), '██████████')
  assert.is(bar(0, 50), '█████     ')
  assert.is(bar(50, 100), '     █████')
  assert.is(bar(30, 31), '   ▏      ')
  assert.is(bar(100, 100), '         ▏')
  assert.is(timingBar({ from: 0, to: 0 }, 0, 3, PLAIN), '   ')
})

screen('writes only the lines that changed', () => {
  assert.is(changedLines([], ['a', 'b']), '\x1b[1;1Ha\x1b[2;1Hb')
  assert.is(changedLines(['a', 'b'], ['a', 'c']), '\x1b[2;1Hc')
  assert.is(changedLines(['a'], ['a']), '')
})

screen('names keys', () => {
  assert.is(keyName('\x1b[A', { name: 'up' }), 'up')
  assert.is(keyName('\x03', { name: 'c', ctrl: true }), 'ctrl-c')
  assert.is(keyName('G', { name: 'g', shift: true }), 'G')
  assert.is(keyName('/', {}), '/')
  assert.is(keyName(' ', { name: 'space' }), 'space')
  assert.is(keyName(undefined, {}), '')
})

screen('keeps a limited number of events and counts the others', () => {
  const full = { ...sample(), steps: Array(10_000).fill(stepOf(SAMPLE_LINES[0]!)) }
  const more = addStep(addStep(full, stepOf('{}')), stepOf('{}'))
  assert.is(more.steps.length, 10_000)
  assert.match(shown(more)[0]!, /10000 events, 2 more not kept$/)
})

screen.run()
