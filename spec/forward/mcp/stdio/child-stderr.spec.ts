import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Secret } from '../../../../lib/text/secret.ts'
import { Log } from '../../../../lib/core/log.ts'
import { ChildSecrets } from '../../../../lib/forward/mcp/stdio/start-child.ts'
import {
  STDERR_LINES_KEPT,
  MAX_STDERR_LINE,
  MAX_STDERR_LINES_PER_WINDOW,
  ChildStderr,
} from '../../../../lib/forward/mcp/stdio/child-stderr.ts'
import { Owner, familyTests, until } from './owner.ts'

/** Records each log line as `message fields`. */
class Lines extends Log {
  readonly lines: string[] = []

  constructor() {
    super({ level: 'info', format: 'text', write: (_text, done) => done() })
  }

  override write(...[level, module, message, fields]: Parameters<Log['write']>): void {
    this.lines.push([level, module, message, ...fields].join(' '))
  }
}

const stderr = suite('stderr')
const test = familyTests(stderr)

stderr('logs each line with its target and keeps the last ones', () => {
  const log = new Lines()
  const machine = new ChildStderr(log, ['target', 'one', 'pid', 7])
  for (let i = 0; i < 30; i++) machine.push(Buffer.from(`line ${i}\r\n`))
  machine.push(Buffer.from('without an end \xff', 'latin1'))
  assert.is(log.lines.length, 30)
  machine.end()
  assert.is(log.lines.length, 31)
  assert.is(log.lines[0], 'info mcp stderr target one pid 7 line line 0')
  assert.is(machine.last().length, STDERR_LINES_KEPT)
  assert.equal([machine.last()[0], machine.last().at(-1)], ['line 11', 'without an end \ufffd'])
})

const NOTHING_INHERITED = { clearEnv: true, inheritEnv: false }

stderr('redacts the secrets of the child, but not plain names', () => {
  const log = new Lines()
  const env = {
    MY_THING: new Secret('s3cretThing'),
    API_KEY: new Secret('lowercase'),
    PEM: new Secret('first-Line1\nsecond-Line2'),
    MODE: new Secret('production'),
    SHORT: new Secret('aB1'),
    PIN_KEY: new Secret('aB1cD2'),
  }
  const args = ['/srv/child.js', '--header', 'X-Own: Scheme s3cretArg', '--key=s3cretKey']
  const machine = new ChildStderr(log, [], new ChildSecrets({ env, args, ...NOTHING_INHERITED }))
  const said: readonly [string, string][] = [
    ['with s3cretThing and s3cretThing.', 'with <redacted> and <redacted>.'],
    ['in lowercase', 'in <redacted>'],
    ['second-Line2', '<redacted>'],
    ['argv /srv/child.js --key=s3cretKey', 'argv /srv/child.js <redacted>'],
    ['s3cretKey|s3cretArg', '<redacted>|<redacted>'],
    ['cut at s3cretTh', 'cut at <redacted>'],
    ['in production: aB1', 'in production: aB1'],
    ['pin aB1cD2', 'pin <redacted>'],
  ]
  for (const [line] of said) machine.push(Buffer.from(`${line}\n`))
  machine.end()
  const shown = said.map(([, line]) => line)
  assert.equal(machine.last(), shown)
  assert.equal(
    log.lines,
    shown.map((line) => `info mcp stderr line ${line}`),
  )
})

stderr('redacts secrets in base64, alone and as a part of other text', () => {
  const secret = 's3cret~Thing?>'
  const secrets = new ChildSecrets({
    env: { API_KEY: new Secret(secret) },
    args: [],
    ...NOTHING_INHERITED,
  })
  for (const prefix of ['', 'a', 'ab', 'user:', 'someone:'])
    for (const suffix of ['', '!', '!!'])
      for (const form of ['base64', 'base64url'] as const) {
        const encoded = Buffer.from(prefix + secret + suffix).toString(form)
        assert.is(secrets.redact(`basic ${encoded}, sent`), 'basic <redacted>, sent', encoded)
      }
  assert.is(secrets.redact(`?key=${encodeURIComponent(secret)}`), '?<redacted>')
  const other = Buffer.from('some other text of the child').toString('base64')
  assert.is(secrets.redact(other), other)
})

stderr('redacts secrets in JSON and in forms', () => {
  const secret = 'é "s3 cret'
  const env = { API_KEY: new Secret(secret) }
  const secrets = new ChildSecrets({ env, args: [], ...NOTHING_INHERITED })
  assert.is(secrets.redact(JSON.stringify({ a: secret })), '{"a":"<redacted>"}')
  const form = String(new URLSearchParams({ a: secret }))
  assert.is(secrets.redact(`{${form.toLowerCase()}}`), '{<redacted>}')
})

stderr('redacts inherited keys where the child gets all variables', () => {
  process.env['SPEC_API_KEY'] = 'inherited-value'
  try {
    const target = { env: {}, args: [], clearEnv: false }
    const line = 'with inherited-value'
    assert.is(new ChildSecrets({ ...target, inheritEnv: true }).redact(line), 'with <redacted>')
    assert.is(new ChildSecrets({ ...target, inheritEnv: false }).redact(line), line)
  } finally {
    delete process.env['SPEC_API_KEY']
  }
})

stderr('cuts a line that is too long, and marks it', () => {
  const log = new Lines()
  const machine = new ChildStderr(log, [])
  machine.push(Buffer.from('x'.repeat(100_000)))
  machine.push(Buffer.from('x\nnext\n'))
  machine.end()
  const beginning = 'x'.repeat(MAX_STDERR_LINE)
  assert.equal(log.lines, [
    `info mcp stderr line ${beginning} cut true`,
    'info mcp stderr line next',
  ])
  assert.equal(machine.last(), [beginning, 'next'])
})

stderr('logs a bounded number of lines per second, and counts the others', async () => {
  const log = new Lines()
  const machine = new ChildStderr(log, ['pid', 7])
  machine.push(Buffer.from('line\n'.repeat(MAX_STDERR_LINES_PER_WINDOW + 50)))
  assert.is(log.lines.length, MAX_STDERR_LINES_PER_WINDOW)
  await until(() => log.lines.length > MAX_STDERR_LINES_PER_WINDOW, 'the number of the others')
  assert.is(log.lines.at(-1), 'info mcp stderr lines dropped pid 7 lines 50')
  machine.push(Buffer.from('line\n'.repeat(MAX_STDERR_LINES_PER_WINDOW + 1)))
  machine.end()
  assert.match(log.lines.at(-1)!, /lines 1$/)
  assert.is(log.lines.length, 2 * MAX_STDERR_LINES_PER_WINDOW + 2)
})

test('a child that floods its stderr is read and keeps working', async (harness) => {
  const owner = new Owner()
  const link = harness.open(owner, 'stderr', '100000')
  await owner.messageCount(1)
  const [view] = [...harness.children]
  await until(() => link.lastStderr().at(-1)!.startsWith('é'), 'the last line')
  assert.is(view!.lastStderr().length, STDERR_LINES_KEPT)
  assert.is(link.lastStderr()[0], 'line 99981 of 100000')
  link.close()
  await harness.logged('stderr lines dropped')
  assert.match(
    harness.log,
    `stderr target=one pid=${link.pid} mcp.session.id=spec line="line 0 of 100000"`,
  )
  const logged = harness.log.split('\n').filter((line) => line.includes('\tstderr '))
  assert.ok(logged.length < 20 * MAX_STDERR_LINES_PER_WINDOW, `${logged.length} lines`)
})

stderr.run()
