// What keeps the house in order. Each rule is tried first on sources that break it.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/root.ts'
import {
  cycleProblems,
  fileNameProblems,
  functionProblems,
  importsOf,
  layerProblems,
  lengthProblems,
  openingProblems,
  shortFileProblems,
} from './support/source-rules.ts'
import type { SourceFile } from './support/source-rules.ts'

const FOLDERS = ['bin', 'lib', 'spec', 'conformance', 'perf', 'schema']

function sourcesOf(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`)
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
  )
}

/** A file that imports these. */
function file(path: string, ...imports: string[]): SourceFile {
  return { path, text: imports.map((target) => `import { x } from '${target}'\n`).join('') }
}

const layers = suite('layers')

layers('reads every form of import', () => {
  const text = `// import { no } from './comment.ts'
import './bare.ts'
import { a, b } from './one.ts'
import {
  long,
  list,
} from '../lines.ts'
import * as all from './all.ts'
import fallback from './default.ts'
import type { T } from './type.ts'
export { c } from './passed-on.ts'
export * from './everything.ts'
import net from 'node:net'
const late = await import('./late.ts')
export const text = 'from ./string.ts'
`
  const found = importsOf({ path: 'lib/x/a.ts', text })
  const names = found.map(({ to, isType }) => (isType ? `type ${to}` : to))
  assert.equal(names, [
    'lib/x/bare.ts',
    'lib/x/one.ts',
    'lib/lines.ts',
    'lib/x/all.ts',
    'lib/x/default.ts',
    'type lib/x/type.ts',
    'lib/x/passed-on.ts',
    'lib/x/everything.ts',
    'lib/x/late.ts',
  ])
})

layers('finds an import of a higher or a neighbouring layer', () => {
  const wrong = [
    file('lib/text/a.ts', '../core/log.ts'),
    file('lib/core/b.ts', '../gateway.ts'),
    file('lib/http/c.ts', '../expressions/compile.ts'),
    file('lib/config/d.ts', './live/plan.ts'),
    file('lib/relay/e.ts', '../settle/access-log.ts'),
    file('lib/relay/f.ts', '../config/live/plan.ts'),
    file('lib/config/live/g.ts', '../../serve.ts'),
    file('lib/serve.ts', './gateway.ts'),
    file('lib/gateway.ts', './processes/worker.ts'),
    file('lib/admin/h.ts', '../forward/http/pool.ts'),
    file('lib/page/i.ts', '../core/log.ts'),
    file('lib/processes/j.ts', '../../bin/gateway.ts'),
    file('lib/choose/k.ts', '../../spec/support/root.ts'),
    file('lib/helpers/l.ts'),
    file('bin/gateway.ts', '../perf/run.ts'),
  ]
  assert.equal(layerProblems(wrong), [
    'lib/text/a.ts may not import lib/core/log.ts',
    'lib/core/b.ts may not import lib/gateway.ts',
    'lib/http/c.ts may not import lib/expressions/compile.ts',
    'lib/config/d.ts may not import lib/config/live/plan.ts',
    'lib/relay/e.ts may not import lib/settle/access-log.ts',
    'lib/relay/f.ts may not import lib/config/live/plan.ts',
    'lib/config/live/g.ts may not import lib/serve.ts',
    'lib/serve.ts may not import lib/gateway.ts',
    'lib/gateway.ts may not import lib/processes/worker.ts',
    'lib/admin/h.ts may not import lib/forward/http/pool.ts',
    'lib/page/i.ts may not import lib/core/log.ts',
    'lib/processes/j.ts may not import bin/gateway.ts',
    'lib/choose/k.ts may not import spec/support/root.ts',
    'lib/helpers/l.ts is in no known layer',
    'bin/gateway.ts may not import perf/run.ts',
  ])
})

layers('allows imports of lower layers', () => {
  const right = [
    file('lib/http/a.ts', '../core/errors.ts', '../text/byte-buffer.ts', './b.ts'),
    file('lib/forward/http/c.ts', '../../http/framer.ts', './d.ts', '../retry.ts'),
    file('lib/config/live/plan.ts', './plan-limits.ts', '../../choose/route-table.ts'),
    file('lib/serve.ts', './config/live/plan.ts', './relay/relay.ts', './core/log.ts'),
    file('lib/gateway.ts', './serve.ts', './admin/page-api/read-api.ts'),
    file('lib/processes/worker.ts', '../gateway.ts', '../admin/admin-server.ts'),
    file('lib/page/e.ts', '../trace-view/amounts.ts', '../admin/page-api/page-api-types.ts'),
    file('bin/gateway.ts', '../lib/gateway.ts', '../lib/processes/worker.ts'),
  ]
  assert.equal(layerProblems(right), [])
})

layers('finds a cycle, however long', () => {
  const files = [
    file('lib/core/a.ts', './b.ts'),
    file('lib/core/b.ts', './c.ts'),
    file('lib/core/c.ts', './b.ts', './d.ts'),
    file('lib/core/d.ts', './d.ts'),
  ]
  assert.equal(cycleProblems(files), [
    'lib/core/b.ts → lib/core/c.ts → lib/core/b.ts',
    'lib/core/d.ts → lib/core/d.ts',
  ])
})

layers('takes no cycle for one where only types go round', () => {
  const type = { path: 'lib/core/b.ts', text: "import type { A } from './a.ts'\n" }
  assert.equal(cycleProblems([file('lib/core/a.ts', './b.ts'), type]), [])
})

layers('finds files and functions that are too long', () => {
  const long = (count: number): string => '    work()\n'.repeat(count)
  const method = (count: number): string =>
    `class A {\n  run(a: string): void {\n${long(count)}  }\n}\n`
  const loop = `for (const a of b()) {\n${long(70)}}\n`
  assert.equal(lengthProblems([{ path: 'a.ts', text: long(500) }]), [])
  assert.equal(lengthProblems([{ path: 'a.ts', text: long(501) }]).length, 1)
  assert.equal(functionProblems([{ path: 'a.ts', text: method(58) + loop }]), [])
  assert.equal(functionProblems([{ path: 'a.ts', text: method(59) }]), [
    'a.ts:2 is a function of 61 lines',
  ])
  assert.equal(functionProblems([{ path: 'b.ts', text: `it(() => {\n${long(60)}})\n` }]).length, 1)
})

layers('finds a file that does not say what it is for', () => {
  const files = [
    { path: 'a.ts', text: '// What a is for.\n' },
    { path: 'b.ts', text: '#!/usr/bin/env node\n// What b is for.\n' },
    { path: 'c.ts', text: "import './a.ts'\n" },
  ]
  assert.equal(openingProblems(files), ['c.ts does not open with a comment'])
})

layers('finds a short file with one importer, and two files of the same name', () => {
  const short = file('lib/core/short.ts')
  const one = file('lib/core/a.ts', './short.ts', './short.ts')
  const two = file('lib/http/a.ts', '../core/short.ts')
  const long = '// long\n'.repeat(40)
  const padded = [one, two].map(({ path, text }) => ({ path, text: text + long }))
  const isShort = (files: SourceFile[]): boolean =>
    shortFileProblems(files).some((problem) => problem.startsWith(short.path))
  assert.ok(isShort([short, padded[0]!]))
  assert.not(isShort([short, ...padded]))
  assert.equal(fileNameProblems([short, ...padded]), [
    'lib/http/a.ts has the name of lib/core/a.ts',
  ])
})

layers('imports go one way', () => {
  const files = sourcesOf('bin', 'lib')
  assert.ok(files.length > 50)
  assert.equal(layerProblems(files), [])
})

layers('imports never go round', () => {
  assert.equal(cycleProblems(sourcesOf(...FOLDERS)), [])
})

layers('short files have several importers, and names are unique', () => {
  assert.equal(shortFileProblems(sourcesOf('bin', 'lib')), [])
  assert.equal(fileNameProblems(sourcesOf('lib')), [])
})

layers('files and functions stay short', () => {
  const files = sourcesOf(...FOLDERS)
  assert.equal(lengthProblems(files), [])
  assert.equal(functionProblems(files), [])
})

layers('every file of the product says what it is for', () => {
  assert.equal(openingProblems(sourcesOf('bin', 'lib')), [])
})

layers.run()
