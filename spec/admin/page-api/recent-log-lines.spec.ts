// The last log lines: numbered, limited in number and text, and only lines that pass the filter.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseLogFilter } from '../../../lib/core/log-filter.ts'
import { Log, LOG_MODULES } from '../../../lib/core/log.ts'
import {
  RecentLogLines,
  MAX_RECENT_LINES,
  MAX_RECENT_CHARS,
  MAX_LOG_VALUE_CHARS,
} from '../../../lib/admin/page-api/recent-log-lines.ts'

const test = suite('ui/lines')

function begin(format: 'text' | 'json' = 'text'): [Log, RecentLogLines] {
  const log = new Log({ level: 'info', format, write: (_text, done) => done() })
  const lines = new RecentLogLines(log)
  lines.start()
  return [log, lines]
}

function say(log: Log, message: string): void {
  log.write('info', 'gateway', message, [])
}

for (const format of ['text', 'json'] as const)
  test(`keeps message, module, level and time, with a log in ${format}`, () => {
    const [log, lines] = begin(format)
    const before = Date.now()
    log.write('warn', 'mcp', 'odd', ['n', 1, 'none', undefined, 'ok', false, 'text', 'a b'])
    const { lines: shown, filter, modules, isCut } = lines.viewAfter(0)
    assert.is(shown.length, 1)
    const { at, ...line } = shown[0]!
    assert.ok(at >= before && at <= Date.now())
    const fields = [
      ['n', 1],
      ['ok', false],
      ['text', 'a b'],
    ]
    assert.equal(line, { number: 1, level: 'warn', module: 'mcp', message: 'odd', fields })
    assert.equal([filter, modules, isCut], ['info', LOG_MODULES, false])
    lines.copyTexts()
    assert.equal(lines.viewAfter(0).lines, shown)
  })

test('keeps no line that the filter drops, and none after stop', () => {
  const [log, lines] = begin()
  log.write('debug', 'mcp', 'no', [])
  log.filter = parseLogFilter('info,mcp=debug')
  log.write('debug', 'mcp', 'yes', [])
  assert.is(lines.viewAfter(0).filter, 'info,mcp=debug')
  const shown = () => lines.viewAfter(0).lines.map(({ number, message }) => [number, message])
  assert.equal(shown(), [[1, 'yes']])
  lines.stop()
  say(log, 'late')
  assert.equal(shown(), [])
  lines.start()
  say(log, 'again')
  assert.equal(shown(), [[2, 'again']])
})

test('continues after a number, and reports when lines in between were dropped', () => {
  const [log, lines] = begin()
  const shown = (after: number) => {
    const { lines: all, isCut } = lines.viewAfter(after)
    return [all[0]?.number, all.at(-1)?.number, isCut]
  }
  assert.equal(shown(0), [undefined, undefined, false])
  for (let at = 1; at <= MAX_RECENT_LINES; at++) say(log, `line ${at}`)
  assert.equal(shown(0), [1, MAX_RECENT_LINES, false])
  assert.equal(shown(10), [11, MAX_RECENT_LINES, false])
  assert.equal(shown(MAX_RECENT_LINES), [undefined, undefined, false])
  for (let at = 1; at <= 30; at++) say(log, `more ${at}`)
  assert.equal(shown(0), [31, MAX_RECENT_LINES + 30, true])
  assert.equal(shown(29), [31, MAX_RECENT_LINES + 30, true])
  assert.equal(shown(30), [31, MAX_RECENT_LINES + 30, false])
  // A page that had lines of another process.
  assert.equal(shown(9_999), [31, MAX_RECENT_LINES + 30, true])
  assert.is(lines.viewAfter(MAX_RECENT_LINES + 29).lines[0]?.message, 'more 30')
})

test('cuts long values, and keeps no more text than its limit', () => {
  const [log, lines] = begin()
  const long = 'x'.repeat(100_000)
  log.write('info', 'gateway', long, ['a', long, 'b', 'short'])
  const [line] = lines.viewAfter(0).lines
  assert.is(line?.message, `${'x'.repeat(MAX_LOG_VALUE_CHARS)}…`)
  assert.equal(line?.fields[0], ['a', `${'x'.repeat(MAX_LOG_VALUE_CHARS)}…`])
  assert.equal(line?.fields[1], ['b', 'short'])
  for (let at = 0; at < MAX_RECENT_LINES; at++)
    log.write('info', 'gateway', 'm', ['v', 'y'.repeat(MAX_LOG_VALUE_CHARS - 10)])
  const { lines: shown, isCut } = lines.viewAfter(0)
  const text = shown.reduce((sum, { fields }) => sum + String(fields[0]?.[1]).length, 0)
  assert.ok(text <= MAX_RECENT_CHARS && text > MAX_RECENT_CHARS * 0.9, `${text}`)
  assert.ok(isCut)
  // Dropped lines are reported once there is space again.
  for (let at = 0; at < MAX_RECENT_LINES; at++) say(log, 'short')
  assert.is(lines.viewAfter(0).lines.length, MAX_RECENT_LINES)
})

test('copies the texts of lines once, with any characters', () => {
  const [log, lines] = begin()
  log.write('info', 'gateway', 'a \ud800 b', ['path', '/é€', 'undefined', undefined, 'n', 1.5])
  lines.copyTexts()
  say(log, 'next')
  lines.copyTexts()
  const [line, next] = lines.viewAfter(0).lines
  assert.is(line?.message, 'a \ud800 b')
  assert.equal(line?.fields, [
    ['path', '/é€'],
    ['n', 1.5],
  ])
  assert.is(next?.message, 'next')
})

test.run()
