// The bundle that the gateway starts from, as it was built: V8 need not compile it, and can where it must.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { readSourceLookup } from '../../lib/core/source-positions.ts'
import { VERSION } from '../../lib/core/version.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { Program, runProgram } from '../support/program.ts'
import { ROOT } from '../support/root.ts'

const WAIT_MS = 30_000
const FILE = join(ROOT, 'dist/bin/gateway.bundle.js')

const bundled = suite('gateway bundle')
const stage = new Stage()
bundled.after.each(() => stage.clear())

bundled('comes with what V8 compiled of it', () => {
  const code = readFileSync(FILE, 'latin1')
  const [, mark = ''] = /\{ \/\/ (\w+)/.exec(code) ?? []
  const cachedData = readFileSync(`${FILE}.${mark}.cache`).subarray(0, -4)
  const script = new Script(code, { filename: pathToFileURL(FILE).href, cachedData })
  assert.is(script.cachedDataRejected, false)
})

bundled('is marked by what it says, so that nobody takes the code of another for it', () => {
  const code = readFileSync(FILE, 'utf8')
  const [, mark = ''] = /\{ \/\/ (\w+)/.exec(code) ?? []
  const unmarked = code.replace(mark, '0'.repeat(mark.length))
  assert.is(mark, createHash('sha256').update(unmarked).digest('hex').slice(0, mark.length))
  assert.is(mark.length, 16)
})

bundled('starts also where V8 has other flags', async () => {
  const flags = { NODE_OPTIONS: '--max-old-space-size=300 --stack-trace-limit=20' }
  const { code, stdout, stderr } = await runProgram('gateway', ['--version'], flags)
  assert.equal([code, stdout, stderr], [0, `gateway, ${VERSION}\n`, ''])
})

bundled('starts also where what was kept is spoilt or cut short', async () => {
  const folder = stage.add(new Folder())
  cpSync(join(ROOT, 'dist/bin'), folder.at('dist/bin'), { recursive: true })
  for (const name of ['package.json', 'node_modules', 'dist/lib', 'dist/package.json'])
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), folder.at(name))
  const bin = folder.at('dist/bin')
  const cache = join(
    bin,
    readdirSync(bin).find((name) => name.endsWith('.cache'))!,
  )
  const whole = readFileSync(cache)
  const spoilt = Buffer.concat([whole.subarray(0, 500_000), Buffer.alloc(whole.length - 500_000)])
  for (const bytes of [spoilt, whole.subarray(0, 500_000), Buffer.alloc(0)]) {
    writeFileSync(cache, bytes)
    const { status, stdout } = spawnSync(process.execPath, [join(bin, 'gateway.js'), '--version'])
    assert.equal([status, String(stdout)], [0, `gateway, ${VERSION}\n`])
  }
})

bundled('knows where its lines are from', () => {
  const lines = readFileSync(FILE, 'latin1').split('\n')
  const found = readSourceLookup(FILE)
  const version = lines.findIndex((line) => line.includes('metaOf("lib/core/version.js")'))
  const source = readFileSync(join(ROOT, 'lib/core/version.ts'), 'utf8').split('\n')
  const { file = '', line = 0 } = found?.findPosition(version + 1) ?? {}
  assert.is(file, 'lib/core/version.ts')
  assert.match(source[line - 1]!, /import\.meta/)
})

bundled('logs an internal error with files and lines of the TypeScript', async () => {
  const folder = stage.add(new Folder())
  const fault = "Date.prototype.toUTCString = () => { throw new Error('broken clock') }"
  writeFileSync(folder.at('fault.mjs'), fault)
  const port = await freePort()
  const text = `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes: [{ backends: [{ ai: { name: mock, provider: { mock: {} } } }] }]`
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(folder.at('fault.mjs')).href}` }
  const program = new Program('gateway', ['-c', text], env)
  stage.add({ close: () => program.kill() })
  await program.prints(/started bind/)
  const url = `http://127.0.0.1:${port}/v1/models`
  await deadline(
    fetch(url).catch(() => {}),
    WAIT_MS,
    url,
  )
  await program.prints(/internal error/)
  assert.match(
    program.stdout,
    /broken clock\\n[^\n]*\\n {4}at buildReply \(lib\/core\/replies\.ts:\d+\)\\n/,
  )
  assert.not.match(program.stdout, '.bundle.js')
})

bundled.run()
