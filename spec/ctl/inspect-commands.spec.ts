// gwctl proxy profile, log, tasks and memory as a program.

import { readFileSync, readdirSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { treeText } from '../../lib/ctl/inspect-commands.ts'
import { fileTimestamp } from '../../lib/ctl/print-output.ts'
import { AdminDouble } from '../support/ctl/admin-double.ts'
import type { Script } from '../support/ctl/admin-double.ts'
import { Folder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'

const folder = new Folder()

/** Runs gwctl against an admin interface that answers by the script. */
async function run(
  script: Script,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string; requests: string[] }> {
  const admin = await AdminDouble.open(script)
  const result = await runProgram('gwctl', [...args, '-p', String(admin.port)])
  admin.close()
  return { ...result, requests: admin.requests }
}

const inspect = suite('gwctl proxy profile, log, tasks, memory')

inspect.after(() => folder.close())

inspect('writes a CPU profile of the given duration', async () => {
  const file = folder.at('cpu.pb.gz')
  const args = ['proxy', 'profile', 'cpu', '--local', '--seconds', '2', '-o', file]
  const { code, stdout, stderr, requests } = await run(
    { 'GET /debug/pprof/profile': 'bytes' },
    ...args,
  )
  assert.equal([stdout, stderr, code], [`Wrote cpu profile to ${file}\n`, '', 0])
  assert.equal(requests, ['GET /debug/pprof/profile?seconds=2'])
  assert.is(gunzipSync(readFileSync(file)).toString(), 'bytes')
})

inspect('profiles for 30 seconds by default', async () => {
  const file = folder.at('thirty.pb.gz')
  const { requests } = await run({ 'GET /debug/pprof/profile': '' }, 'profile', 'cpu', '-o', file)
  assert.equal(requests, ['GET /debug/pprof/profile?seconds=30'])
})

inspect('requests the profile of one process', async () => {
  const file = folder.at('one.pb.gz')
  const script: Script = { 'GET /debug/pprof/heap': '', 'GET /debug/pprof/profile': '' }
  const heap = await run(script, 'profile', 'heap', '--worker', 'supervisor', '-o', file)
  assert.equal(heap.requests, ['GET /debug/pprof/heap?worker=supervisor'])
  const cpu = await run(script, 'profile', 'cpu', '--worker', '2', '--seconds', '1', '-o', file)
  assert.equal(cpu.requests, ['GET /debug/pprof/profile?seconds=1&worker=2'])
  const wrong = await run(script, 'profile', 'heap', '--worker', 'two')
  assert.equal(
    [wrong.stderr, wrong.requests],
    ['Error: invalid --worker two; must be a number or supervisor\n', []],
  )
})

inspect('writes a gzipped profile unchanged', async () => {
  const file = folder.at('heap.pb.gz')
  const packed = gzipSync('heap')
  const script: Script = { 'GET /debug/pprof/heap': (response) => void response.end(packed) }
  const { stdout } = await run(script, 'proxy', 'profile', 'heap', '-o', file)
  assert.is(stdout, `Wrote heap profile to ${file}\n`)
  assert.equal(readFileSync(file), packed)
})

inspect('names the file by the kind of profile and the time', async () => {
  assert.is(fileTimestamp(new Date(2026, 0, 2, 3, 4, 5)), '20260102-030405')
  const admin = await AdminDouble.open({ 'GET /debug/pprof/heap': 'x' })
  const here = process.cwd()
  process.chdir(folder.path)
  const running = runProgram('gwctl', ['profile', 'heap', '--port', String(admin.port)])
  process.chdir(here)
  const { stdout } = await running
  admin.close()
  const [name = ''] = readdirSync(folder.path).filter((file) => file.startsWith('gateway-'))
  assert.match(name, /^gateway-heap-\d{8}-\d{6}\.pb\.gz$/)
  assert.is(stdout, `Wrote heap profile to ${name}\n`)
})

inspect('reports a refused profile', async () => {
  const { code, stdout, stderr } = await run({}, 'profile', 'cpu', '--seconds', '1')
  const hint = '(CPU profiles are available on Linux only)'
  assert.is(stderr, `Error: cpu profile returned 404 Not Found: not found ${hint}\n`)
  assert.equal([stdout, code], ['', 1])
  const busy: Script = {
    'GET /debug/pprof/heap': (response) => void response.writeHead(409).end('one is running\n'),
  }
  const second = await run(busy, 'profile', 'heap')
  assert.is(second.stderr, 'Error: heap profile returned 409 Conflict: one is running\n')
})

inspect('accepts 1 to 300 seconds', async () => {
  for (const seconds of ['0', '301', '-1', '1.5', 'x']) {
    const { stderr, code, requests } = await run({}, 'profile', 'cpu', '--seconds', seconds)
    assert.is(stderr, `Error: invalid --seconds ${seconds}; must be between 1 and 300\n`)
    assert.equal([code, requests], [1, []])
  }
})

inspect('reads and sets log levels', async () => {
  const script: Script = {
    'GET /logging': 'current log level is info\n',
    'POST /logging': 'current log level is debug\n',
  }
  const read = await run(script, 'proxy', 'log')
  assert.equal([read.stdout, read.requests], ['current log level is info\n', ['GET /logging']])
  const set = await run(script, 'proxy', 'log', '--level', 'info,mcp=trace')
  assert.is(set.stdout, 'current log level is debug\n')
  assert.equal(set.requests, ['POST /logging?level=info%2Cmcp%3Dtrace'])
  const modules = await run(script, 'log', '--set', 'mcp=trace', '--set', 'accept=off')
  assert.equal(modules.requests, ['POST /logging?set=mcp%3Dtrace%2Caccept%3Doff'])
  const reset = await run(script, 'log', '--reset', '--level', 'warn')
  assert.equal(reset.requests, ['POST /logging?reset=true&level=warn'])
})

inspect('refuses invalid log levels', async () => {
  const both = await run({}, 'log', '--level', 'info', '--set', 'a=b')
  assert.is(both.stderr, 'Error: --level and --set are mutually exclusive\n')
  for (const setting of ['mcp', 'mcp:trace', 'a=b=c', '=x']) {
    const { stderr } = await run({}, 'log', '--set', setting)
    assert.is(stderr, `Error: invalid --set ${setting}: expected module=level\n`)
  }
  const unknown = await run({}, 'log', '--set', 'mcp=debug', '--set', 'nope=debug')
  assert.match(
    unknown.stderr,
    /^Error: unknown module nope: the modules are accept, .*, request\n$/,
  )
  assert.equal([unknown.code, unknown.requests], [1, []])
  const script: Script = {
    'POST /logging': (response) => void response.writeHead(400).end('Invalid level provided: x\n'),
  }
  const { stderr, code } = await run(script, 'log', '--level', 'x')
  assert.is(stderr, 'Error: logging returned 400 Bad Request: Invalid level provided: x\n')
  assert.is(code, 1)
})

inspect('prints tasks and memory as a tree, as JSON and as YAML', async () => {
  const tasks = { listeners: [{ port: 1, open: 2 }], sessions: [] }
  const script = { 'GET /debug/tasks': JSON.stringify(tasks), 'GET /memory': '{"rssBytes":2048}' }
  const short = await run(script, 'proxy', 'tasks')
  assert.is(short.stdout, 'listeners:\n  PORT   OPEN\n  1      2\nsessions: none\n')
  const json = await run(script, 'proxy', 'tasks', '-o', 'json')
  assert.is(json.stdout, JSON.stringify(tasks, null, 2) + '\n')
  const yaml = await run(script, 'proxy', 'tasks', '-o', 'yaml')
  assert.equal(parse(yaml.stdout), tasks)
  assert.is((await run(script, 'proxy', 'memory')).stdout, 'rssBytes: 2.0 KiB\n')
  const gone = await run({}, 'proxy', 'memory')
  assert.is(gone.stderr, 'Error: memory returned 404 Not Found: not found\n')
})

inspect('indents nested values', () => {
  const value = {
    a: { b: 'c', d: null },
    list: ['x', 'y'],
    mixed: [
      { name: 'one', n: '', inside: [{ n: 1 }] },
      { name: 'two', n: 2, inside: [] },
    ],
  }
  assert.is(
    treeText(value),
    `a:
  b: c
  d: -
list:
  - x
  - y
mixed:
  - name=one  n=-
    inside:
      N
      1
  - name=two  n=2
`,
  )
})

inspect('formats bytes and times', () => {
  const value = { rss_bytes: 1_610_612_736, limit_rules: 5_000, heapUsed: 512, age_ms: 1_500 }
  assert.is(treeText(value), 'rss: 1.5 GiB\nlimit_rules: 5000\nheapUsed: 512 B\nage: 1.50 s\n')
  assert.is(treeText({ captured_at_unix_ms: 0 }), 'captured_at: 1970-01-01T00:00:00.000Z\n')
  assert.is(treeText([{ age_ms: 1_500, bytes: 1 }]), 'AGE      BYTES\n1.50 s   1 B\n')
  assert.is(treeText([{ age_ms: 836, in: { a: 1 } }]), '- age=836.0 ms\n  in:\n    a: 1\n')
})

inspect.run()
