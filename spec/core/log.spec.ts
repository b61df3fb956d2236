// What a log filter allows, how it changes while lines are written, and how lines are formatted.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { checkLogFilter, parseLogFilter, formatLogFilter } from '../../lib/core/log-filter.ts'
import { Log, LOG_MODULES } from '../../lib/core/log.ts'
import { deadline } from '../support/deadline.ts'

const WAIT_MS = 30_000

function logOf(level: string): Log {
  return new Log({ level, format: 'text', write: (_text, done) => done() })
}

const log = suite('log')

log('allows what its filter allows, module by module', () => {
  const mixed = logOf('warn,mcp=trace,auth=off')
  assert.ok(mixed.allows('warn', 'gateway'))
  assert.not.ok(mixed.allows('info', 'gateway'))
  assert.ok(mixed.allows('trace', 'mcp'))
  assert.not.ok(mixed.allows('error', 'auth'))
})

log('logs at info if the filter names modules only', () => {
  const some = logOf('mcp=debug')
  assert.ok(some.allows('info', 'request'))
  assert.not.ok(some.allows('debug', 'request'))
  assert.ok(some.allows('debug', 'mcp'))
})

log('applies a new filter from the next line on, and keeps the first one', () => {
  const changing = logOf('info')
  changing.filter = parseLogFilter('request=off,llm=debug', changing.filter)
  assert.not.ok(changing.allows('info', 'request'))
  assert.ok(changing.allows('debug', 'llm'))
  assert.is(formatLogFilter(changing.filter), 'info,request=off,llm=debug')
  assert.is(formatLogFilter(changing.initialFilter), 'info')
  changing.filter = changing.initialFilter
  assert.ok(changing.allows('info', 'request'))
  assert.not.ok(changing.allows('debug', 'llm'))
})

log('adds directives to those of a base, each module once', () => {
  const text = (base: string, more: string): string =>
    formatLogFilter(parseLogFilter(more, parseLogFilter(base)))
  assert.is(text('info', 'debug'), 'debug')
  assert.is(text('info,mcp=trace', 'warn'), 'warn,mcp=trace')
  assert.is(text('info,mcp=trace', ' mcp=error , auth=debug '), 'info,mcp=error,auth=debug')
})

log('accepts off, and module names of other programs', () => {
  for (const filter of ['off', 'info,mcp=off', 'info,rmcp::service=trace', 'forward/http=warn'])
    assert.is(checkLogFilter(filter), undefined, filter)
  for (const filter of ['', 'loud', 'mcp=', '=info', 'info,', 'a b=info', 'mcp=info=debug'])
    assert.ok(checkLogFilter(filter) !== undefined, filter)
})

log('keeps a message on one line, whatever characters it contains', async () => {
  const written = new Promise<string>((resolve) => {
    const messages = new Log({ level: 'info', format: 'text', write: (text) => resolve(text) })
    // The lower byte of the first is a newline.
    messages.write('warn', 'config', 'file \u010a and \n\x1b[31m', [])
  })
  const text = await deadline(written, WAIT_MS, 'a line')
  assert.is(text.slice(text.indexOf('\t')), '\twarn\tfile \\u010a and \\u000a\\u001b[31m\n')
})

log('lists every module once, in order', () => {
  assert.equal([...new Set(LOG_MODULES)].toSorted(), [...LOG_MODULES])
})

log('drops a line that the filter excludes before it is formatted', () => {
  let written = ''
  const quiet = new Log({
    level: 'warn',
    format: 'text',
    write: (text, done) => {
      written += text
      done()
    },
  })
  quiet.write('info', 'gateway', 'excluded', [])
  assert.is(written, '')
})

/** Two lines with the same prefix. */
async function linesOf(format: 'text' | 'json'): Promise<string> {
  const written = new Promise<string>((resolve) => {
    const buffering = new Log({ level: 'info', format, write: (text) => resolve(text) })
    const prefix = buffering.buildPrefix('info', 'request', 'event', [
      'at',
      'a b',
      'not',
      undefined,
    ])
    buffering.writeWithPrefix(prefix, ['status', 200, 'error', undefined, 'word', 'plain'])
    buffering.writeWithPrefix(prefix, ['word', '"é"', 'empty', '', 'equal', 'a=b'])
  })
  // Without this, only the log's own timer would be left, which does not keep the process alive.
  return deadline(written, WAIT_MS, 'the lines')
}

log(
  'formats lines with a prefix: quotes values where needed, and omits undefined ones',
  async () => {
    const text = (await linesOf('text')).replace(/^\S+/gm, 'NOW')
    assert.is(
      text,
      'NOW\tinfo\tevent at="a b" status=200 word=plain\n' +
        'NOW\tinfo\tevent at="a b" word="\\"\\u00e9\\"" empty="" equal="a=b"\n',
    )
    const objects = (await linesOf('json'))
      .trimEnd()
      .split('\n')
      .map((line) => ({ ...(JSON.parse(line) as object), time: 'NOW' }))
    const start = { time: 'NOW', level: 'info', message: 'event', at: 'a b' }
    assert.equal(objects, [
      { ...start, status: 200, word: 'plain' },
      { ...start, word: '"é"', empty: '', equal: 'a=b' },
    ])
  },
)

log('writes lines longer than its buffer in their order', async () => {
  const long = 'x'.repeat(70_000)
  const written = new Promise<string>((resolve) => {
    const buffering = new Log({ level: 'info', format: 'text', write: (text) => resolve(text) })
    for (const value of ['one', long, 'two', long.slice(30_000), long.slice(30_000), 'three'])
      buffering.write('info', 'gateway', 'event', ['value', value])
  })
  const text = await deadline(written, WAIT_MS, 'the lines')
  assert.equal(
    text.split('\n').map((line) => /value=(\w+)/.exec(line)?.[1]?.length),
    [3, 70_000, 3, 40_000, 40_000, 5, undefined],
  )
})

log('passes all fields of a line to the tap', () => {
  const records: unknown[] = []
  const open = logOf('info')
  open.tap = ({ level, module, message, fields }) => records.push([level, module, message, fields])
  open.writeWithPrefix(open.buildPrefix('warn', 'llm', 'words', ['a', 1]), ['b', 2])
  open.write('info', 'mcp', 'more', ['c', 3])
  assert.equal(records, [
    ['warn', 'llm', 'words', ['a', 1, 'b', 2]],
    ['info', 'mcp', 'more', ['c', 3]],
  ])
})

log('writes durations as text with a unit, and in JSON as numbers', async () => {
  const write = async (format: 'text' | 'json'): Promise<string> => {
    const written = new Promise<string>((resolve) => {
      const one = new Log({
        level: 'info',
        format,
        write: (text, done) => {
          resolve(text)
          done()
        },
      })
      const first = ['gen_ai.server.time_to_first_token', '0.009559s']
      one.write('info', 'request', 'request', ['duration', '12ms', ...first, 'path', '12ms'])
    })
    return deadline(written, WAIT_MS, 'a line')
  }
  const fields = 'duration=12ms gen_ai.server.time_to_first_token=0.009559s path=12ms'
  assert.match(await write('text'), fields)
  const { time: _time, ...line } = JSON.parse(await write('json')) as Record<string, unknown>
  assert.equal(line, {
    level: 'info',
    message: 'request',
    duration: 12,
    'gen_ai.server.time_to_first_token': 0.009559,
    path: '12ms',
  })
})

log.run()
