// gwctl proxy profile, log, tasks and memory as a program.

import { readFileSync, readdirSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { treeText } from '../../lib/ctl/tree.ts'
import { fileStamp } from '../../lib/ctl/stamp.ts'
import { AdminDouble } from '../support/ctl/admin-double.ts'
import type { Script } from '../support/ctl/admin-double.ts'
import { Folder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'

const folder = new Folder()

/** One run against a double. */
async function run(
  script: Script,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string; asked: string[] }> {
  const admin = await AdminDouble.open(script)
  const result = await runProgram('gwctl', [...args, '-p', String(admin.port)])
  admin.close()
  return { ...result, asked: admin.asked }
}

const looks = suite('gwctl proxy')

looks.after(() => folder.close())

looks('writes a CPU profile of as many seconds as are asked for', async () => {
  const file = folder.at('cpu.pb.gz')
  const args = ['proxy', 'profile', 'cpu', '--local', '--seconds', '2', '-o', file]
  const { code, stdout, stderr, asked } = await run(
    { 'GET /debug/pprof/profile': 'bytes' },
    ...args,
  )
  assert.equal([stdout, stderr, code], [`Wrote cpu profile to ${file}\n`, '', 0])
  assert.equal(asked, ['GET /debug/pprof/profile?seconds=2'])
  assert.is(gunzipSync(readFileSync(file)).toString(), 'bytes')
})

looks('looks for 30 seconds if nobody says how long', async () => {
  const file = folder.at('thirty.pb.gz')
  const { asked } = await run({ 'GET /debug/pprof/profile': '' }, 'profile', 'cpu', '-o', file)
  assert.equal(asked, ['GET /debug/pprof/profile?seconds=30'])
})

looks('asks for the profile of one process of several', async () => {
  const file = folder.at('one.pb.gz')
  const script: Script = { 'GET /debug/pprof/heap': '', 'GET /debug/pprof/profile': '' }
  const heap = await run(script, 'profile', 'heap', '--worker', 'supervisor', '-o', file)
  assert.equal(heap.asked, ['GET /debug/pprof/heap?worker=supervisor'])
  const cpu = await run(script, 'profile', 'cpu', '--worker', '2', '--seconds', '1', '-o', file)
  assert.equal(cpu.asked, ['GET /debug/pprof/profile?seconds=1&worker=2'])
  const wrong = await run(script, 'profile', 'heap', '--worker', 'two')
  assert.equal(
    [wrong.stderr, wrong.asked],
    ['Error: invalid --worker two; must be a number or supervisor\n', []],
  )
})

looks('a profile that is packed already is written as it is', async () => {
  const file = folder.at('heap.pb.gz')
  const packed = gzipSync('heap')
  const script: Script = { 'GET /debug/pprof/heap': (response) => void response.end(packed) }
  const { stdout } = await run(script, 'proxy', 'profile', 'heap', '-o', file)
  assert.is(stdout, `Wrote heap profile to ${file}\n`)
  assert.equal(readFileSync(file), packed)
})

looks('a profile without a name has its kind and the time in it', async () => {
  assert.is(fileStamp(new Date(2026, 0, 2, 3, 4, 5)), '20260102-030405')
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

looks('a profile that is refused is told', async () => {
  const { code, stdout, stderr } = await run({}, 'profile', 'cpu', '--seconds', '1')
  const hint = '(CPU profiles are taken on Linux only)'
  assert.is(stderr, `Error: cpu profile returned 404 Not Found: not found ${hint}\n`)
  assert.equal([stdout, code], ['', 1])
  const busy: Script = {
    'GET /debug/pprof/heap': (response) => void response.writeHead(409).end('one is running\n'),
  }
  const second = await run(busy, 'profile', 'heap')
  assert.is(second.stderr, 'Error: heap profile returned 409 Conflict: one is running\n')
})

looks('seconds are between 1 and 300', async () => {
  for (const seconds of ['0', '301', '-1', '1.5', 'x']) {
    const { stderr, code, asked } = await run({}, 'profile', 'cpu', '--seconds', seconds)
    assert.is(stderr, `Error: invalid --seconds ${seconds}; must be between 1 and 300\n`)
    assert.equal([code, asked], [1, []])
  }
})

looks('reads and sets log levels', async () => {
  const script: Script = {
    'GET /logging': 'current log level is info\n',
    'POST /logging': 'current log level is debug\n',
  }
  const read = await run(script, 'proxy', 'log')
  assert.equal([read.stdout, read.asked], ['current log level is info\n', ['GET /logging']])
  const set = await run(script, 'proxy', 'log', '--level', 'info,mcp=trace')
  assert.is(set.stdout, 'current log level is debug\n')
  assert.equal(set.asked, ['POST /logging?level=info%2Cmcp%3Dtrace'])
  const modules = await run(script, 'log', '--set', 'mcp=trace', '--set', 'accept=off')
  assert.equal(modules.asked, ['POST /logging?level=mcp%3Dtrace%2Caccept%3Doff'])
  const reset = await run(script, 'log', '--reset', '--level', 'warn')
  assert.equal(reset.asked, ['POST /logging?reset=true&level=warn'])
})

looks('log levels that are none are refused', async () => {
  const both = await run({}, 'log', '--level', 'info', '--set', 'a=b')
  assert.is(both.stderr, 'Error: --level and --set are mutually exclusive\n')
  for (const setting of ['mcp', 'mcp:trace', 'a=b=c', '=x']) {
    const { stderr } = await run({}, 'log', '--set', setting)
    assert.is(stderr, `Error: invalid --set ${setting}: expected module=level\n`)
  }
  const script: Script = {
    'POST /logging': (response) => void response.writeHead(400).end('Invalid level provided: x\n'),
  }
  const { stderr, code } = await run(script, 'log', '--level', 'x')
  assert.is(stderr, 'Error: logging returned 400 Bad Request: Invalid level provided: x\n')
  assert.is(code, 1)
})

looks('prints tasks and memory as a tree, as JSON and as YAML', async () => {
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

looks('a tree shows what is in what', () => {
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

looks('bytes and times are read by people', () => {
  const value = { rss_bytes: 1_610_612_736, limit_rules: 5_000, heapUsed: 512, age_ms: 1_500 }
  assert.is(treeText(value), 'rss: 1.5 GiB\nlimit_rules: 5000\nheapUsed: 512 B\nage: 1.50 s\n')
  assert.is(treeText({ captured_at_unix_ms: 0 }), 'captured_at: 1970-01-01T00:00:00.000Z\n')
  assert.is(treeText([{ age_ms: 1_500, bytes: 1 }]), 'AGE      BYTES\n1.50 s   1 B\n')
  assert.is(treeText([{ age_ms: 836, in: { a: 1 } }]), '- age=836.0 ms\n  in:\n    a: 1\n')
})

looks.run()
