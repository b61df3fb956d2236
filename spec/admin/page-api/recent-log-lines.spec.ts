// The last lines of the log: numbered, bounded in number and in text, and no line that the filter holds back.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseLogFilter } from '../../../lib/core/log-filter.ts'
import { Log, LOG_MODULES } from '../../../lib/core/log.ts'
import {
  RecentLogLines,
  MAX_RECENT_LINES,
  MAX_RECENT_TEXT,
  MAX_LINE_VALUE,
} from '../../../lib/admin/page-api/recent-log-lines.ts'

const keeping = suite('ui/lines')

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
  keeping(`tells what was said, by whom and when, with a log in ${format}`, () => {
    const [log, lines] = begin(format)
    const before = Date.now()
    log.write('warn', 'mcp', 'odd', ['n', 1, 'none', undefined, 'ok', false, 'text', 'a b'])
    const { lines: told, filter, modules, isCut } = lines.logs(0)
    assert.is(told.length, 1)
    const { at, ...line } = told[0]!
    assert.ok(at >= before && at <= Date.now())
    const fields = [
      ['n', 1],
      ['ok', false],
      ['text', 'a b'],
    ]
    assert.equal(line, { number: 1, level: 'warn', module: 'mcp', message: 'odd', fields })
    assert.equal([filter, modules, isCut], ['info', LOG_MODULES, false])
    lines.copyTexts()
    assert.equal(lines.logs(0).lines, told)
  })

keeping('keeps nothing that the filter holds back, and nothing once it has stopped', () => {
  const [log, lines] = begin()
  log.write('debug', 'mcp', 'no', [])
  log.filter = parseLogFilter('info,mcp=debug')
  log.write('debug', 'mcp', 'yes', [])
  assert.is(lines.logs(0).filter, 'info,mcp=debug')
  const told = () => lines.logs(0).lines.map(({ number, message }) => [number, message])
  assert.equal(told(), [[1, 'yes']])
  lines.stop()
  say(log, 'late')
  assert.equal(told(), [])
  lines.start()
  say(log, 'again')
  assert.equal(told(), [[2, 'again']])
})

keeping('goes on behind a number, and says when lines in between are gone', () => {
  const [log, lines] = begin()
  const told = (after: number) => {
    const { lines: all, isCut } = lines.logs(after)
    return [all[0]?.number, all.at(-1)?.number, isCut]
  }
  assert.equal(told(0), [undefined, undefined, false])
  for (let at = 1; at <= MAX_RECENT_LINES; at++) say(log, `line ${at}`)
  assert.equal(told(0), [1, MAX_RECENT_LINES, false])
  assert.equal(told(10), [11, MAX_RECENT_LINES, false])
  assert.equal(told(MAX_RECENT_LINES), [undefined, undefined, false])
  for (let at = 1; at <= 30; at++) say(log, `more ${at}`)
  assert.equal(told(0), [31, MAX_RECENT_LINES + 30, true])
  assert.equal(told(29), [31, MAX_RECENT_LINES + 30, true])
  assert.equal(told(30), [31, MAX_RECENT_LINES + 30, false])
  // A page that knew another process.
  assert.equal(told(9_999), [31, MAX_RECENT_LINES + 30, true])
  assert.is(lines.logs(MAX_RECENT_LINES + 29).lines[0]?.message, 'more 30')
})

keeping('cuts what is long, and holds no more text than its bound', () => {
  const [log, lines] = begin()
  const long = 'x'.repeat(100_000)
  log.write('info', 'gateway', long, ['a', long, 'b', 'short'])
  const [line] = lines.logs(0).lines
  assert.is(line?.message, `${'x'.repeat(MAX_LINE_VALUE)}…`)
  assert.equal(line?.fields[0], ['a', `${'x'.repeat(MAX_LINE_VALUE)}…`])
  assert.equal(line?.fields[1], ['b', 'short'])
  for (let at = 0; at < MAX_RECENT_LINES; at++)
    log.write('info', 'gateway', 'm', ['v', 'y'.repeat(MAX_LINE_VALUE - 10)])
  const { lines: told, isCut } = lines.logs(0)
  const text = told.reduce((sum, { fields }) => sum + String(fields[0]?.[1]).length, 0)
  assert.ok(text <= MAX_RECENT_TEXT && text > MAX_RECENT_TEXT * 0.9, `${text}`)
  assert.ok(isCut)
  // What made room is told once there is room again.
  for (let at = 0; at < MAX_RECENT_LINES; at++) say(log, 'short')
  assert.is(lines.logs(0).lines.length, MAX_RECENT_LINES)
})

keeping('gives lines memory of their own once, whatever stands in them', () => {
  const [log, lines] = begin()
  log.write('info', 'gateway', 'a \ud800 b', ['path', '/é€', 'undefined', undefined, 'n', 1.5])
  lines.copyTexts()
  say(log, 'next')
  lines.copyTexts()
  const [line, next] = lines.logs(0).lines
  assert.is(line?.message, 'a \ud800 b')
  assert.equal(line?.fields, [
    ['path', '/é€'],
    ['n', 1.5],
  ])
  assert.is(next?.message, 'next')
})

keeping.run()
