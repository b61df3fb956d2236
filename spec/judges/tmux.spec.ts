// The interactive view of gwctl proxy trace in a real terminal: tmux presses the keys and reads the screen.

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AdminDouble, traceOf } from '../support/ctl/admin-double.ts'
import { SAMPLE_LINES } from '../support/ctl/sample-trace.ts'
import { HAS_TMUX, Tmux } from '../support/ctl/tmux.ts'
import { reportSkip } from '../support/report-skip.ts'

const SAMPLE_TEXT = SAMPLE_LINES.map((line) => line + '\n').join('')
const DONE = /stream complete, press q to exit/

/** A terminal that shows a saved trace. */
async function replay(
  columns: number,
  rows: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Tmux> {
  const terminal = new Tmux(columns, rows, env)
  terminal.folder.write('trace.jsonl', SAMPLE_TEXT)
  terminal.type('{gwctl} proxy trace --file trace.jsonl; echo "exit $?"')
  await terminal.until(DONE)
  return terminal
}

async function leaves(terminal: Tmux, ...keys: string[]): Promise<void> {
  terminal.press(...keys)
  await terminal.until(/^exit 0$/m)
  assert.is(terminal.isAlternate, false)
  assert.is(terminal.hasCursor, true)
  // The terminal echoes keys again.
  terminal.type('echo "typed"')
  await terminal.until(/^\$ echo "typed"\ntyped$/m)
  terminal.close()
}

const judge = suite('gwctl in a terminal')

if (HAS_TMUX) {
  judge('shows a trace on 80 columns and 24 rows', async () => {
    const terminal = await replay(80, 24)
    const lines = terminal.seen()
    assert.match(lines[0]!, /^Events trace\.jsonl +13 events, stream complete, press q to exit$/)
    assert.is(lines[1], '   # Type               Time Timing     Summary')
    assert.is(lines[2], '>  1 Request Start      0 µs ▏          request accepted')
    assert.match(lines[10]!, /^ Details: raw event, YAML ─+ 1\/5$/)
    assert.is(lines[11], 'eventStart: null')
    assert.is(lines[22], '404 after 15.0 ms: sent by backend 127.0.0.1:8080')
    assert.match(lines[23]!, /^q quit {2}Tab pane .* w save$/)
    assert.is(terminal.isAlternate, true)
    assert.is(terminal.hasCursor, false)
    await leaves(terminal, 'q')
  })

  judge('moves, changes the details and searches by keys', async () => {
    const terminal = await replay(80, 24)
    terminal.press('End')
    await terminal.until(/^> 13 Request Done/m)
    terminal.press('Up')
    await terminal.until(/^> 12 Body Snapshot[^]*# body, decoded: events/m)
    terminal.press('g', 'PageDown')
    await terminal.until(/^> {2}8 Backend Start/m)
    terminal.press('k', 'd')
    await terminal.until(/Details: snapshot diff[^]*^\+ request\.headers\.x-user: "alice"$/m)
    terminal.press('s')
    await terminal.until(/Details: snapshot, YAML[^]*^# route policies \(step 7\)$/m)
    terminal.press('f')
    await terminal.until(/Details: snapshot, JSON[^]*^ {2}"request": \{$/m)
    terminal.press('e', '/')
    await terminal.until(/^\/_$/m)
    terminal.press('4', '0', '4', 'Enter')
    await terminal.until(/^> 10 Backend Result/m)
    terminal.press('n', 'Tab', 'j', 'j')
    await terminal.until(/^> 11 Snapshot[^]*^>Details: raw event, JSON ─+ 3\/\d+$/m)
    await leaves(terminal, 'Escape')
  })

  judge('adapts to the size of the window', async () => {
    const terminal = await replay(80, 24)
    terminal.resize(140, 30)
    const wide = await terminal.until(/Summary .*│ Details: raw event/)
    assert.match(wide[2]!, /^> {2}1 Request Start .*│eventStart: null$/)
    terminal.resize(60, 12)
    const narrow = await terminal.until(/^ Details: raw event, YAML ─+ 1\/5$/m)
    assert.is(narrow.length, 12)
    assert.is(
      narrow.findIndex((line) => line.startsWith('> ')),
      2,
    )
    terminal.resize(15, 5)
    await terminal.until(/^too small/)
    terminal.resize(80, 24)
    await terminal.until(DONE)
    await leaves(terminal, 'C-c')
  })

  judge('shows severities in colour, and no colour if disabled', async () => {
    const coloured = await replay(80, 24)
    const authz = coloured.seen('styled').find((line) => line.includes('Authz'))!
    assert.match(authz, '\x1b[32m')
    await leaves(coloured, 'q')
    const plain = await replay(80, 24, { NO_COLOR: '1' })
    assert.not.match(plain.seen('styled').join('\n'), '\x1b')
    assert.match(plain.seen().join('\n'), /^> {2}1 Request Start/m)
    await leaves(plain, 'q')
  })

  judge('prints a list on a dumb terminal', async () => {
    const terminal = new Tmux(80, 24)
    terminal.folder.write('trace.jsonl', SAMPLE_TEXT)
    terminal.type('TERM=dumb {gwctl} proxy trace --file trace.jsonl; echo "exit $?"')
    const lines = await terminal.until(/^exit 0$/m)
    assert.ok(lines.includes('  6  Authz            allow: require jwt.sub == "alice" ✓'))
    const last = lines.indexOf(' 13  Request Done     404 after 15.0 ms')
    assert.equal(lines.slice(last, last + 4), [
      ' 13  Request Done     404 after 15.0 ms',
      '',
      '404 after 15.0 ms: sent by backend 127.0.0.1:8080',
      'exit 0',
    ])
    terminal.close()
  })

  judge('copies the details and saves the trace unchanged', async () => {
    const terminal = await replay(80, 24)
    terminal.press('Down', 'Down', 'c')
    await terminal.until(/^copied \d+ bytes$/m)
    assert.match(terminal.clipboard, /^eventStart: null\neventEnd: 130\n/)
    terminal.press('w')
    await terminal.until(/^saved 13 events to trace-\d{8}-\d{6}\.jsonl$/m)
    const [name = ''] = readdirSync(terminal.folder.path).filter((file) =>
      file.startsWith('trace-'),
    )
    assert.is(readFileSync(terminal.folder.at(name), 'utf8'), SAMPLE_TEXT)
    assert.is(statSync(terminal.folder.at(name)).mode & 0o777, 0o600)
    await leaves(terminal, 'q')
  })

  judge('waits for a request and shows its steps', async () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const admin = await AdminDouble.open({ 'POST /debug/trace': traceOf(SAMPLE_LINES, begun) })
    const terminal = new Tmux(100, 24)
    terminal.type(`{gwctl} proxy trace --local -p ${admin.port}; echo "exit $?"`)
    await terminal.until(/^Events 127\.0\.0\.1:\d+ +waiting for trace data$/m)
    begin()
    await terminal.until(DONE)
    assert.match(terminal.seen().join('\n'), /^> {2}1 Request Start/m)
    await leaves(terminal, 'q')
    admin.close()
  })

  judge('quits while it waits', async () => {
    const admin = await AdminDouble.open({
      'POST /debug/trace': (response) => void response.write(': ready\n\n'),
    })
    const terminal = new Tmux(80, 24)
    terminal.type(`{gwctl} proxy trace -p ${admin.port}; echo "exit $?"`)
    await terminal.until(/waiting for trace data/)
    await leaves(terminal, 'q')
    admin.close()
  })

  judge('reports a request that cannot be sent', async () => {
    const admin = await AdminDouble.open({
      'POST /debug/trace': (response) => void response.write(': ready\n\n'),
    })
    const terminal = new Tmux(110, 24)
    terminal.type(`{gwctl} trace -p ${admin.port} --port 1 -- http://a/; echo "exit $?"`)
    await terminal.until(/^curl failed with exit code 7: curl: \(7\)/m)
    terminal.press('q')
    await terminal.until(/^Error: curl failed with exit code 7: [^]*^exit 1$/m)
    assert.is(terminal.isAlternate, false)
    terminal.close()
    admin.close()
  })

  judge('prints progress to standard error', async () => {
    const admin = await AdminDouble.open({
      'POST /debug/trace': (response) => void response.write(': ready\n\n'),
      'GET /debug/pprof/profile': () => {},
    })
    const terminal = new Tmux(80, 24)
    terminal.type(`{gwctl} trace --raw -p ${admin.port}`)
    await terminal.until(/^waiting for a request…$/m)
    terminal.press('C-c')
    terminal.type(`clear; {gwctl} profile cpu --seconds 300 -p ${admin.port} -o x`)
    const left = async (fits: RegExp): Promise<number> =>
      Number(fits.exec((await terminal.until(fits)).join('\n'))![1])
    const first = await left(/^profiling, (\d+) s left/m)
    assert.ok(first <= 300)
    assert.ok((await left(new RegExp(`^profiling, (?!${first} )(\\d+) s left`, 'm'))) < first)
    terminal.press('C-c')
    terminal.close()
    admin.close()
  })

  judge('escapes control characters from the gateway', async () => {
    const evil = '\x1b]0;owned\x07\x1b[2Jnonsense'
    const admin = await AdminDouble.open({
      'POST /debug/trace': (response) => void response.writeHead(400).end(evil),
    })
    const terminal = new Tmux(80, 24)
    terminal.type(`{gwctl} trace -p ${admin.port}; echo "exit $?"`)
    await terminal.until(/returned 400 Bad Request: \\x1b\]0;owned\\x07\\x1b\[2Jnonsense\nexit 1$/m)
    terminal.close()
    admin.close()
  })

  judge('reads a trace from standard input and keys from the keyboard', async () => {
    const terminal = new Tmux(80, 24)
    terminal.folder.write('trace.jsonl', SAMPLE_TEXT)
    terminal.type('cat trace.jsonl | {gwctl} proxy trace --file -; echo "exit $?"')
    await terminal.until(/^Events standard input .*stream complete/m)
    terminal.press('j')
    await terminal.until(/^> {2}2 Snapshot/m)
    await leaves(terminal, 'q')
  })

  judge('restores the terminal after SIGTERM', async () => {
    const terminal = new Tmux(80, 24)
    terminal.folder.write('trace.jsonl', SAMPLE_TEXT)
    terminal.type('{gwctl} trace -f trace.jsonl & echo $! > pid; fg; echo "exit $?"')
    await terminal.until(DONE)
    process.kill(Number(readFileSync(terminal.folder.at('pid'), 'utf8')), 'SIGTERM')
    await leaves(terminal)
  })

  judge('restores the terminal before it reports an uncaught exception', async () => {
    const fault = "process.once('SIGUSR2',()=>{throw(Error('boom'))})"
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${fault}` }
    const terminal = new Tmux(80, 24, env)
    terminal.folder.write('trace.jsonl', SAMPLE_TEXT)
    terminal.type('{gwctl} trace -f trace.jsonl & echo $! > pid; fg; echo "exit $?"')
    await terminal.until(DONE)
    process.kill(Number(readFileSync(terminal.folder.at('pid'), 'utf8')), 'SIGUSR2')
    await terminal.until(/^Error: boom\nexit 1$/m)
    assert.is(terminal.isAlternate, false)
    assert.is(terminal.hasCursor, true)
    terminal.close()
  })
} else {
  reportSkip('the screen in a real terminal', 'tmux is not installed')
}

judge.run()
